"""The values of a comparison: what JSON, tables and words of `ragledger compare` all show.

The JSON is stable as that of `ragledger measure` is: names are the fields below, what is not known is null, never 0.

    schema, useful_from, cuts, k, seed
    a, b        name, epoch, since, until, first_search, last_search, searches, ok, epochs, index_versions, embedding_models
    changes     [{name, a, b}]    settings that differ; null where a side does not have it
    hit_rate, degraded    {a: {n, of, rate}, b, difference, low, high}
    latency     {a: {n, p50_ms, p95_ms}, b}    information: neither has an interval
    voters      {human, agent, judge, system: {a: {votes, actors}, b, headline, verdict{word, text}, at: {"1", "3", "5", "10"}}}
                at is {a: {precision, useful, judged, shown, judged_share, searches, actors}, b,
                       unpaired: {value, low, high, clustered_by, actors, crude, left_out, p, p_adjusted, shuffles, exact},
                       paired: {value, low, high, questions, better, worse, actors, p, p_adjusted, shuffles, exact}}
    caveats     [{code, text}]    what to know before believing it
    plan        what was planned for A, how far it is reached, and the looks that were taken

Every difference is B - A. Its `actors` voted on what is compared, on the side that has fewest; with one, `low` and `high` are null:
it is one voter's opinion. `headline` says which of the two the verdict speaks of; p_adjusted is Holm's over the k of one voter
kind. A kind that nobody voted as is not listed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from ragledger.model import ActorKind, Outcome

from .actors import ClusteredBy
from .changes import Change
from .report import HitRate, Latency

__all__ = [
    "AtK",
    "Caveat",
    "Compared",
    "Comparison",
    "Latencies",
    "Look",
    "PairedDifference",
    "Plan",
    "PlanState",
    "RateDifference",
    "SideAt",
    "SideExtent",
    "UnpairedDifference",
    "Verdict",
    "VoterCounts",
    "Word",
]

Word = Literal["better", "worse", "cannot tell", "too few", "not measured"]


class SideExtent(Struct, frozen=True, kw_only=True):
    """Which searches a side is, and what was found there."""

    name: str
    epoch: str | None
    since: datetime | None
    until: datetime | None
    first_search: datetime
    last_search: datetime
    searches: int
    ok: int
    epochs: tuple[str, ...]
    index_versions: tuple[str | None, ...]
    embedding_models: tuple[str | None, ...]


class SideAt(Struct, frozen=True, kw_only=True):
    """precision@k of one side, with what it was made of; `searches` have a judged hit within k, from `actors`."""

    precision: float | None
    useful: float
    judged: int
    shown: int
    judged_share: float | None
    searches: int
    actors: int


class _Tested(Struct, frozen=True, kw_only=True):
    p: float | None
    p_adjusted: float | None
    shuffles: int | None
    exact: bool | None


class UnpairedDifference(_Tested, frozen=True, kw_only=True):
    """Over all searches, within surfaces: `measures/difference.py` and `measures/permutation.py`."""

    value: float
    low: float | None
    high: float | None
    clustered_by: ClusteredBy | None
    actors: int | None
    crude: float
    left_out: int


class PairedDifference(_Tested, frozen=True, kw_only=True):
    """Over the questions that both sides were asked: `measures/paired.py`."""

    value: float
    low: float | None
    high: float | None
    questions: int
    better: int
    worse: int
    actors: int | None


class AtK(Struct, frozen=True, kw_only=True):
    """Both sides at one k."""

    a: SideAt
    b: SideAt
    unpaired: UnpairedDifference | None
    paired: PairedDifference | None


class VoterCounts(Struct, frozen=True, kw_only=True):
    """How much the actors of one kind voted on one side."""

    votes: int
    actors: int


class Verdict(Struct, frozen=True, kw_only=True):
    """What it comes to, as a word for programs and as a sentence."""

    word: Word
    text: str


class Compared(Struct, frozen=True, kw_only=True):
    """What voters of one kind make of it."""

    a: VoterCounts
    b: VoterCounts
    headline: Literal["unpaired", "paired"]
    verdict: Verdict
    at: dict[int, AtK]


class RateDifference(Struct, frozen=True, kw_only=True):
    """A rate over searches on both sides, and B - A."""

    a: HitRate
    b: HitRate
    difference: float | None
    low: float | None
    high: float | None


class Latencies(Struct, frozen=True, kw_only=True):
    """Milliseconds of the timed ok searches."""

    a: Latency
    b: Latency


class Caveat(Struct, frozen=True, kw_only=True):
    """Something to know before the difference is believed."""

    code: str
    text: str


class Plan(Struct, frozen=True, kw_only=True):
    """How many votes a comparison with an epoch needs, as it was written down: the columns of `plans`."""

    plan_id: UUID
    planned_at: datetime
    planned_by: str
    project: str | None
    corpus: str | None
    surface: str | None
    epoch: str
    voter: ActorKind
    k: int
    useful_from: Outcome
    share_from: float
    share_to: float
    power: float
    alpha: float
    design_effect: float
    votes: int
    searches: int


class Look(Struct, frozen=True, kw_only=True):
    """What was there when somebody looked before."""

    votes_a: int
    votes_b: int
    looked_at: datetime


class PlanState(Struct, frozen=True, kw_only=True):
    """The plan of A, how far it is reached, this look and those before it.

    `reached` is the smaller side's part of the planned votes. `looks` counts this one; `written` says whether it could be
    written down. `error` is how often who stops at the first p of 5 % among these looks and the planned one is wrong.
    """

    plan: Plan
    votes_a: int
    votes_b: int
    reached: float
    looks: int
    earlier: tuple[Look, ...]
    error: float
    written: bool
    text: str


class Comparison(Struct, frozen=True, kw_only=True):
    """Everything `ragledger compare` knows about two sides."""

    schema: int = 1
    useful_from: Outcome
    cuts: tuple[int, ...]
    k: int
    seed: int
    a: SideExtent
    b: SideExtent
    changes: tuple[Change, ...]
    hit_rate: RateDifference
    degraded: RateDifference
    latency: Latencies
    voters: dict[ActorKind, Compared]
    caveats: tuple[Caveat, ...]
    plan: PlanState | None
