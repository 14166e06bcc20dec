"""What the table says about a window, counted but not yet divided: one value per row of `sql/measure.sql`.

The columns of a query are the fields of its value, in that order.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from ragledger.model import ActorKind

__all__ = [
    "AccessedFact",
    "ConditionsFact",
    "EpochFact",
    "ExtentFact",
    "Facts",
    "GroupFact",
    "JudgedFact",
    "ReasonFact",
    "ShownFact",
    "VoterFact",
]


class ExtentFact(Struct, frozen=True, array_like=True):
    """What lies in the window. Nulls where that is nothing."""

    searches: int
    first_search: datetime | None
    last_search: datetime | None
    projects: tuple[str, ...] | None
    corpora: tuple[str | None, ...] | None


class GroupFact(Struct, frozen=True, array_like=True):
    """Searches that have one property in common, which `grouped_by` names, or all of them."""

    grouped_by: Literal["all", "surface", "session", "actor_kind"]
    surface: str | None
    in_session: bool | None
    actor_kind: ActorKind | None
    ok: int
    error: int
    cancelled: int
    skipped: int
    untold: int
    empty: int
    found: int
    timed: int
    p50_ms: float | None
    p95_ms: float | None


class ConditionsFact(Struct, frozen=True, array_like=True):
    """How many searches were degraded, had a vector signal, were counted in a delivered order."""

    degraded: int
    vector_available: int
    vector_unavailable: int
    vector_unknown: int
    delivered: int


class ReasonFact(Struct, frozen=True, array_like=True):
    """Searches that were skipped or degraded for one reason."""

    what: Literal["skipped", "degraded"]
    reason: str | None
    searches: int


class EpochFact(Struct, frozen=True, array_like=True):
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
    """Hits at one position in the searches of one epoch and one kind of asking actor."""

    epoch: str
    actor_kind: ActorKind
    position: int | None
    hits: int
    accessed: int


class AccessedFact(Struct, frozen=True, array_like=True):
    """Hits at one position that actors of one kind opened."""

    voter: ActorKind
    position: int | None
    hits: int


class JudgedFact(Struct, frozen=True, array_like=True):
    """Hits at one position that the same number of actors of one kind judged."""

    epoch: str
    actor_kind: ActorKind
    voter: ActorKind
    position: int | None
    actors: int
    useful_votes: int
    hits: int


class VoterFact(Struct, frozen=True, array_like=True):
    """How much the actors of one kind voted."""

    voter: ActorKind
    votes: int
    actors: int
    searches: int


class Facts(Struct, frozen=True, kw_only=True):
    """All of it, from one snapshot."""

    extent: ExtentFact
    groups: list[GroupFact]
    conditions: ConditionsFact
    reasons: list[ReasonFact]
    epochs: list[EpochFact]
    shown: list[ShownFact]
    accessed: list[AccessedFact]
    judged: list[JudgedFact]
    voters: list[VoterFact]
