"""What the table says about one side of a comparison, not yet divided: one value per row of `sql/compare.sql`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from ragledger.model import ActorKind

from .facts import EpochFact, VoterFact

__all__ = [
    "AnswersFact",
    "ClusterFact",
    "LatencyFact",
    "MixFact",
    "PositionFact",
    "QuestionFact",
    "RunningFact",
    "SharedFact",
    "SideFacts",
]


class RunningFact(Struct, frozen=True, array_like=True):
    """An epoch and when its newest search was."""

    epoch: str
    last_seen: datetime


class SharedFact(Struct, frozen=True, array_like=True):
    """How many searches there are."""

    searches: int


class MixFact(Struct, frozen=True, array_like=True):
    """Searches that ran on one surface, asked by one kind of actor."""

    project: str
    surface: str | None
    actor_kind: ActorKind
    ran: int
    ok: int
    degraded: int


class LatencyFact(Struct, frozen=True, array_like=True):
    """Of the ok searches that were timed."""

    timed: int
    p50_ms: float | None
    p95_ms: float | None


class AnswersFact(Struct, frozen=True, array_like=True):
    """Ok searches without a real hit, and those among them of which nobody knows."""

    nothing: int
    untold: int


class PositionFact(Struct, frozen=True, array_like=True):
    """How many hits were shown at one position."""

    position: int
    hits: int


class ClusterFact(Struct, frozen=True, array_like=True):
    """What voters of one kind said of one search, within each k."""

    voter: ActorKind
    project: str
    surface: str | None
    query_key: bytes | None
    useful_1: float
    judged_1: int
    useful_3: float
    judged_3: int
    useful_5: float
    judged_5: int
    useful_10: float
    judged_10: int


class QuestionFact(Struct, frozen=True, array_like=True):
    """How often one question was asked."""

    query_key: bytes | None
    searches: int


class SideFacts(Struct, frozen=True, kw_only=True):
    """All of one side."""

    epochs: Sequence[EpochFact]
    mix: Sequence[MixFact]
    latency: LatencyFact
    answers: AnswersFact
    shown: Sequence[PositionFact]
    clusters: Sequence[ClusterFact]
    questions: Sequence[QuestionFact]
    voters: Sequence[VoterFact]

    @property
    def ran(self) -> int:
        """Searches that ran."""
        return sum(part.ran for part in self.mix)

    @property
    def ok(self) -> int:
        """Searches that ended well."""
        return sum(part.ok for part in self.mix)

    @property
    def degraded(self) -> int:
        """Searches that ran with something missing."""
        return sum(part.degraded for part in self.mix)
