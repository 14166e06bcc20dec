"""The values of a measurement: what the JSON, the tables and the Markdown of `ragledger measure` all show.

The JSON is stable: its names are the field names below, `schema` changes when a name or a meaning does, and what is
not known is null, never 0 (promise P8). Every share stands beside the counts that it was made of (promise P12).

    schema, useful_from, cuts
    window      project, corpus, surface, since, until    the filters; null is no filter, no bound
                first_search, last_search, projects, corpora    what was found inside them
    searches    one Group: searches, by_status{ok, error, cancelled, skipped}, untold, empty, padded_only,
                hit_rate{n, of, rate}, latency{n, p50_ms, p95_ms}
    by_surface, by_session, by_actor_kind    lists of Groups that also have `surface`, `in_session`, `actor_kind`
    skipped     n, of, rate, reasons[{reason, n}]    of all searches
    degraded    n, of, rate, reasons[{reason, n}]    of the searches that ran
    vector      available, unavailable, unknown    searches by `vector_available`
    epochs      [{epoch, weights, index_version, embedding_model, first_seen, last_seen, searches, ok}]
    precision   order{delivered, retriever}    ok searches by the order that was used
                across{epochs, actor_kinds}    what `overall` pools; never silently
                overall{human, agent, judge, system: {votes, actors, searches, not_delivered, at: Cuts}}
                by_epoch, by_actor_kind    {name: {ok, voters{human, agent, judge, system: Cuts}}}
                Cuts is {"1", "3", "5", "10": {precision, useful, judged, shown, judged_share}}
    ranks       top, positions[{position, shown, accessed, voters}], beyond{shown, accessed, voters}
    funnel      retrieved, accessed, voters
                voters is {human, agent, judge, system: {accessed, judged, useful}}

Meanings that are easy to get wrong:

- *Searches* are logical ones: depth 0, and a group of attempts once, by its last attempt, in the window that this
  one falls in.
- *Hits* are the admitted ones of ok searches. A duplicate that was folded leaves a gap in the ranks; it stays.
- The *position* of a hit is its place in the latest delivery where the search has one, else the retriever's rank.
  A hit that the delivery left out has no position: its votes are in `funnel` and `not_delivered`, in no cut.
- *useful* is a sum of shares (`measures/precision.py`), so it may be a fraction. Voter kinds are never pooled.
- *empty* has no admitted hit, *padded_only* has nothing but padding (`measures/rates.py`). Neither found anything:
  ok = untold + empty + padded_only + hit_rate.n, where *untold* are those whose result nobody could read: unknown is not
  empty, and they are in no rate.
- `accessed` beside `shown` or `retrieved` is by anyone; inside `voters` it is by the actors of that kind.
- `epochs` are those of searches that ran: a skipped search ran under no weights. `across` counts those with an ok
  search.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from ragledger.model import ActorKind, Outcome

__all__ = [
    "Across",
    "ActorKindGroup",
    "At",
    "Condition",
    "Cuts",
    "Epoch",
    "Extent",
    "Feedback",
    "Funnel",
    "Group",
    "HitRate",
    "Latency",
    "Measurement",
    "Order",
    "Part",
    "Position",
    "Precision",
    "Ranks",
    "Reason",
    "SessionGroup",
    "Statuses",
    "SurfaceGroup",
    "VectorCounts",
    "Voter",
    "Window",
]


class Window(Struct, frozen=True, kw_only=True):
    """Which searches are meant. None filters nothing; `since` is inclusive, `until` is not."""

    project: str | None = None
    corpus: str | None = None
    surface: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if any(bound is not None and bound.tzinfo is None for bound in (self.since, self.until)):
            raise ValueError("the bounds of a window need a time zone")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("a window must begin before it ends")


class Extent(Window, frozen=True, kw_only=True):
    """The window, and what was found in it. A null among the corpora: searches that named none."""

    first_search: datetime
    last_search: datetime
    projects: tuple[str, ...]
    corpora: tuple[str | None, ...]


class Statuses(Struct, frozen=True, kw_only=True):
    """Searches by how they ended."""

    ok: int
    error: int
    cancelled: int
    skipped: int


class HitRate(Struct, frozen=True, kw_only=True):
    """`n` of `of` ok searches found something."""

    n: int
    of: int
    rate: float | None


class Latency(Struct, frozen=True, kw_only=True):
    """Nearest rank over the `n` ok searches that were timed; null below the sample that the percentile needs."""

    n: int
    p50_ms: float | None
    p95_ms: float | None


class Group(Struct, frozen=True, kw_only=True):
    """What became of some searches."""

    searches: int
    by_status: Statuses
    untold: int
    empty: int
    padded_only: int
    hit_rate: HitRate
    latency: Latency


class SurfaceGroup(Group, frozen=True, kw_only=True):
    """Searches from one place in the product, null where it was not said."""

    surface: str | None


class SessionGroup(Group, frozen=True, kw_only=True):
    """Searches inside a conversation, or outside of any."""

    in_session: bool


class ActorKindGroup(Group, frozen=True, kw_only=True):
    """Searches that were asked by actors of one kind."""

    actor_kind: ActorKind


class Reason(Struct, frozen=True, kw_only=True):
    """How many searches gave this reason, null where none was given."""

    reason: str | None
    n: int


class Condition(Struct, frozen=True, kw_only=True):
    """`n` of `of` searches were in this condition, and why."""

    n: int
    of: int
    rate: float | None
    reasons: tuple[Reason, ...]


class VectorCounts(Struct, frozen=True, kw_only=True):
    """Searches by what they say of the embedding provider; unknown also where there is no vector signal."""

    available: int
    unavailable: int
    unknown: int


class Epoch(Struct, frozen=True, kw_only=True):
    """The searches of the window that ran under equal ranking parameters, with the weights of the latest one."""

    epoch: str
    weights: Mapping[str, Any]
    index_version: str | None
    embedding_model: str | None
    first_seen: datetime
    last_seen: datetime
    searches: int
    ok: int


class At(Struct, frozen=True, kw_only=True):
    """precision@k by voters of one kind, with what it was made of."""

    precision: float | None
    useful: float
    judged: int
    shown: int
    judged_share: float | None


Cuts = dict[int, At]
"""By k."""


class Voter(Struct, frozen=True, kw_only=True):
    """What voters of one kind said. `not_delivered`: hits they judged that did not reach the prompt."""

    votes: int
    actors: int
    searches: int
    not_delivered: int
    at: Cuts


class Part(Struct, frozen=True, kw_only=True):
    """Precision within one epoch, or among the searches of one kind of actor, with its number of ok searches."""

    ok: int
    voters: dict[ActorKind, Cuts]


class Order(Struct, frozen=True, kw_only=True):
    """How many ok searches were counted in the delivered order, and how many in the retriever's."""

    delivered: int
    retriever: int


class Across(Struct, frozen=True, kw_only=True):
    """How many different ones the overall numbers pool."""

    epochs: int
    actor_kinds: int


class Precision(Struct, frozen=True, kw_only=True):
    """precision@k over the window, and within each of the parts that it pools."""

    order: Order
    across: Across
    overall: dict[ActorKind, Voter]
    by_epoch: dict[str, Part]
    by_actor_kind: dict[ActorKind, Part]


class Feedback(Struct, frozen=True, kw_only=True):
    """Hits that actors of one kind opened, judged and found useful."""

    accessed: int
    judged: int
    useful: float


class Funnel(Struct, frozen=True, kw_only=True):
    """How far hits came. Each is a count of its own: a hit can be judged without having been opened."""

    retrieved: int
    accessed: int
    voters: dict[ActorKind, Feedback]


class Position(Struct, frozen=True, kw_only=True):
    """What stood at one position of the list; null for all positions past the top ones."""

    position: int | None
    shown: int
    accessed: int
    voters: dict[ActorKind, Feedback]


class Ranks(Struct, frozen=True, kw_only=True):
    """The positions down to the last one shown, at most `top` of them, and the rest as one."""

    top: int
    positions: tuple[Position, ...]
    beyond: Position


class Measurement(Struct, frozen=True, kw_only=True):
    """Everything `ragledger measure` knows about a window."""

    schema: int = 1
    useful_from: Outcome
    cuts: tuple[int, ...]
    window: Extent
    searches: Group
    by_surface: tuple[SurfaceGroup, ...]
    by_session: tuple[SessionGroup, ...]
    by_actor_kind: tuple[ActorKindGroup, ...]
    skipped: Condition
    degraded: Condition
    vector: VectorCounts
    epochs: tuple[Epoch, ...]
    precision: Precision
    ranks: Ranks
    funnel: Funnel
