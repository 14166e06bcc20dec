"""The values of a measurement: what the JSON, the tables and the Markdown of `ragledger measure` all show.

The JSON is stable: its names are the field names below, `schema` changes when a name or a meaning does, and what is
not known is null, never 0 (promise P8). Every share stands beside the counts that it was made of (promise P12).

    schema, useful_from, cuts
    window      project, corpus, surface, since, until    the filters; null is no filter, no bound
                first_search, last_search, projects, corpora    what was found inside them
    searches    one Group: searches, by_status{ok, error, cancelled, skipped}, untold, empty, padded_only,
                hit_rate{n, of, rate, interval}, latency{n, p50_ms, p95_ms}
    by_surface, by_session, by_actor_kind    lists of Groups that also have `surface`, `in_session`, `actor_kind`
    skipped     n, of, rate, interval, reasons[{reason, n}]    of all searches
    degraded    n, of, rate, interval, reasons[{reason, n}]    of the searches that ran
    vector      available, unavailable, unknown    searches by `vector_available`
    epochs      [{epoch, weights, index_version, embedding_model, first_seen, last_seen, searches, ok}]
    precision   order{delivered, retriever}    ok searches by the order that was used
                across{epochs, actor_kinds, surfaces}    what `overall` pools; never silently
                overall{human, agent, judge, system: {votes, actors, searches, not_delivered, at, ndcg, bpref}}
                by_epoch, by_actor_kind    {name: {ok, voters{human, agent, judge, system: {at, ndcg, bpref}}}}
                by_surface    [{surface, ok, voters}]
                at is {"1", "3", "5", "10": {precision, interval, clustered_by, useful, judged, shown, judged_share,
                bounds, searches, actors, thin, macro}}; macro, ndcg and bpref are {mean, interval, searches, without}
    ranks       top, at[{rank, shown, accessed, voters}], beyond{shown, accessed, voters}
    funnel      retrieved, accessed, accessed_rate, voters{kind: {accessed, judged, useful, accessed_rate, judged_rate,
                useful_rate}}
    agreement   [{first, second, hits, split, searches, equal, both_useful, first_only, second_only, share, interval,
                kappa, kappa_interval}]    kinds of voters that judged the same hits (`kappa.py`)
    diagnosis   [{epoch, voter, verdict, actors, rank, because[...], top, below, difference, seldom_below}]
                (`diagnosis.py`)
    assessments [{name, method, epoch, searches, null, voters{kind: {verdict, searches, useful, clusters, auc, interval,
                brier, brier_of_the_mean, groups[{searches, value, share, interval}]}}}]    (`worth.py`)
                interval and bounds are {low, high} at 95 %, or null; in ranks voters is {kind: {accessed, judged, useful}}

Meanings that are easy to get wrong:

- *Searches* are logical ones: depth 0, and a group of attempts once, by its last attempt, in the window that this
  one falls in.
- *Hits* are the admitted ones of ok searches. A duplicate that was folded leaves a gap in the ranks; it stays.
- The *rank* of a hit is the one in the latest delivery where the search has one, else the retriever's.
  A hit that the delivery left out has no rank: its votes are in `funnel` and `not_delivered`, in no cut.
- `precision` pools hits; `macro` is the mean of each search's own precision. `interval` is clustered by search, or by actor
  where fewer than 20 actors voted and that one is wider (`actors.py`); with one actor it is one voter's opinion.
- `without` of macro: ok searches without a judged hit within k; of nDCG' and bpref: searches with votes of this kind whose
  judged hits do not define it. `thin`: fewer than 30 judged hits or 20 searches.
- *useful* is a sum of shares (`measures/precision.py`), so it may be a fraction. Voter kinds are never pooled.
- *empty* has no admitted hit, *padded_only* has nothing but padding (`measures/rates.py`). Neither found anything:
  ok = untold + empty + padded_only + hit_rate.n, where *untold* are those whose result nobody could read: unknown is not
  empty, and they are in no rate.
- `accessed` and `accessed_rate` are null where the window has no access at all: nobody records them. Otherwise
  `accessed` beside `shown` or `retrieved` is by anyone; inside `voters` it is by the actors of that kind.
- `epochs` are those of searches that ran: a skipped search ran under no weights. `across` counts those with an ok
  search.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from ragledger.model import ActorKind, Outcome

from .ranges import Range
from .voted import Agreement, Assessment, Diagnosis, Funnel, Precision, Ranks

__all__ = [
    "ActorKindGroup",
    "Condition",
    "Epoch",
    "Extent",
    "Group",
    "HitRate",
    "Latency",
    "Measurement",
    "Reason",
    "SessionGroup",
    "Statuses",
    "SurfaceGroup",
    "VectorCounts",
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
    interval: Range | None = None


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
    interval: Range | None
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


class Measurement(Struct, frozen=True, kw_only=True):
    """Everything `ragledger measure` knows about a window."""

    schema: int = 3
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
    agreement: tuple[Agreement, ...]
    diagnosis: tuple[Diagnosis, ...]
    assessments: tuple[Assessment, ...]
