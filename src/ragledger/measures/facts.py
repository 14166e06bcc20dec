"""What the table says about a window, counted but not yet divided.

Most are rows of `sql/measure.sql`: the columns of a query are the fields of its value, in that order. `tallies.py` makes the others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from ragledger.model import ActorKind

__all__ = [
    "AlikeFact",
    "AnswersFact",
    "AssessedFact",
    "ConditionsFact",
    "EpochFact",
    "ExtentFact",
    "Facts",
    "GroupFact",
    "LatencyFact",
    "OpenedFact",
    "ReasonFact",
    "ShownFact",
    "StoredFact",
    "ThereFact",
    "VoteFact",
    "VoterFact",
    "VotesFact",
    "WeightsFact",
]


class AlikeFact(Struct, frozen=True, array_like=True):
    """Searches that have all of this in common. `tallies.py` makes of them what is counted of searches."""

    project: str
    corpus: str | None
    epoch: str
    surface: str | None
    in_session: bool
    actor_kind: ActorKind
    status: Literal["ok", "error", "cancelled", "skipped"]
    skip_reason: str | None
    degraded: bool
    degraded_reason: str | None
    vector_available: bool | None
    delivered: bool
    searches: int
    first_search: datetime
    last_search: datetime


class LatencyFact(Struct, frozen=True, array_like=True):
    """How long ok searches took that have one property in common, which `grouped_by` names, or all of them."""

    grouped_by: Literal["all", "surface", "session", "actor_kind"]
    surface: str | None
    in_session: bool | None
    actor_kind: ActorKind | None
    timed: int
    p50_ms: float | None
    p95_ms: float | None


class WeightsFact(Struct, frozen=True, array_like=True):
    """What the latest search of an epoch ran under."""

    epoch: str
    weights: dict[str, Any]
    index_version: str | None
    embedding_model: str | None


class ExtentFact(Struct, frozen=True):
    """What lies in the window."""

    searches: int
    first_search: datetime
    last_search: datetime
    projects: tuple[str, ...]
    corpora: tuple[str | None, ...]


class ThereFact(Struct, frozen=True, array_like=True):
    """Searches of one corpus of a project, and when they were."""

    project: str
    corpus: str | None
    searches: int
    first_search: datetime
    last_search: datetime


class GroupFact(Struct, frozen=True):
    """Searches that have one property in common, which `grouped_by` names, or all of them."""

    grouped_by: Literal["all", "surface", "session", "actor_kind"]
    surface: str | None
    in_session: bool | None
    actor_kind: ActorKind | None
    ok: int
    error: int
    cancelled: int
    skipped: int
    timed: int
    p50_ms: float | None
    p95_ms: float | None


class AnswersFact(Struct, frozen=True, array_like=True):
    """Ok searches that did not find anything, as far as is known, by why."""

    surface: str | None
    in_session: bool
    actor_kind: ActorKind
    untold: int
    empty: int
    padded_only: int


class ConditionsFact(Struct, frozen=True):
    """How many searches were degraded, had a vector signal, were counted in a delivered order."""

    degraded: int
    vector_available: int
    vector_unavailable: int
    vector_unknown: int
    delivered: int


class ReasonFact(Struct, frozen=True):
    """Searches that were skipped or degraded for one reason."""

    what: Literal["skipped", "degraded"]
    reason: str | None
    searches: int


class EpochFact(Struct, frozen=True):
    """The searches of one epoch that ran."""

    epoch: str
    searches: int
    ok: int
    first_seen: datetime
    last_seen: datetime
    weights: dict[str, Any]
    index_version: str | None
    embedding_model: str | None


class ShownFact(Struct, frozen=True, array_like=True):
    """Hits at one position in the searches of one epoch, one kind of asking actor and one surface."""

    epoch: str
    actor_kind: ActorKind
    surface: str | None
    position: int | None
    hits: int


class OpenedFact(Struct, frozen=True, array_like=True):
    """Hits at one position that actors of one kind accessed; a null voter: anyone."""

    voter: ActorKind | None
    position: int | None
    hits: int


class VoteFact(Struct, frozen=True, array_like=True, gc=False):
    """What the actors of one kind said of one hit; `gain` is the sum of 2^y - 1 over their outcomes y = 0 .. 3.

    `voter` is the number of the kind, from 1.
    """

    rank: int
    position: int | None
    voter: int
    actors: int
    useful: int
    gain: int


class VotesFact(Struct, frozen=True, array_like=True, gc=False):
    """Searches that were judged alike (`ballot`), or the sums over actors of everything or of one part of it."""

    what: Literal["ballot", "all", "epoch", "actor_kind", "surface"]
    epoch: str | None
    actor_kind: ActorKind | None
    surface: str | None
    hits: tuple[VoteFact, ...] | None
    n: int
    voter: ActorKind | None
    k: int | None
    useful: float | None
    judged: float | None
    useful_sq: float | None
    judged_sq: float | None
    useful_judged: float | None


class VoterFact(Struct, frozen=True, array_like=True):
    """How much the actors of one kind voted."""

    voter: ActorKind
    votes: int
    actors: int
    searches: int


class AssessedFact(Struct, frozen=True, array_like=True, gc=False):
    """One search with an assessment and votes of one kind; `cluster` numbers what belongs together, a session or a search."""

    name: str
    method: str | None
    epoch: str
    voter: ActorKind
    cluster: int
    value: float
    useful: float
    judged: int


class StoredFact(Struct, frozen=True, array_like=True):
    """How often an assessment was made, and how often it came to nothing."""

    name: str
    method: str | None
    epoch: str
    searches: int
    null: int


class Facts(Struct, frozen=True, kw_only=True):
    """All of it, from one snapshot."""

    extent: ExtentFact
    groups: list[GroupFact]
    answers: list[AnswersFact]
    conditions: ConditionsFact
    reasons: list[ReasonFact]
    epochs: list[EpochFact]
    shown: list[ShownFact]
    opened: list[OpenedFact]
    votes: list[VotesFact]
    stored: list[StoredFact]
    assessed: list[AssessedFact]
