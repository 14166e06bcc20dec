"""What the table says about one side of a comparison, not yet divided: one value per row of `sql/compare.sql`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from ragledger.model import ActorKind

from .facts import AnswersFact, EpochFact, VoterFact

__all__ = [
    "ActorFact",
    "ClusterFact",
    "LatencyFact",
    "MixFact",
    "PositionFact",
    "QuestionFact",
    "RunningFact",
    "SaidFact",
    "SharedFact",
    "SideFacts",
]


class RunningFact(Struct, frozen=True, array_like=True):
    """An epoch in one corpus of a project, and when a search there last ended well and was not degraded; null: none did."""

    epoch: str
    project: str
    corpus: str | None
    last_healthy: datetime | None


class SharedFact(Struct, frozen=True, array_like=True):
    """How many searches there are."""

    searches: int


class MixFact(Struct, frozen=True, array_like=True):
    """Searches that ran on one surface, asked by one kind of actor."""

    project: str
    corpus: str | None
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


class PositionFact(Struct, frozen=True, array_like=True):
    """How many hits were shown at one position."""

    position: int
    hits: int


class SaidFact(Struct, frozen=True, array_like=True):
    """What voters of one kind said on one surface of a corpus, within each k."""

    voter: ActorKind
    project: str
    corpus: str | None
    surface: str | None
    useful_1: float
    judged_1: float
    useful_3: float
    judged_3: float
    useful_5: float
    judged_5: float
    useful_10: float
    judged_10: float


class ClusterFact(SaidFact, frozen=True, array_like=True):
    """Of one search."""

    query_key: bytes | None


class ActorFact(SaidFact, frozen=True, array_like=True):
    """By one actor on one question; a hit that several judged is divided among them. Those without an id are one."""

    actor_id: str | None
    query_key: bytes | None


class QuestionFact(Struct, frozen=True, array_like=True):
    """How often one question was asked."""

    query_key: bytes | None
    searches: int


class SideFacts(Struct, frozen=True, kw_only=True):
    """All of one side."""

    epochs: Sequence[EpochFact]
    mix: Sequence[MixFact]
    latency: LatencyFact
    answers: Sequence[AnswersFact]
    shown: Sequence[PositionFact]
    clusters: Sequence[ClusterFact]
    actors: Sequence[ActorFact]
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
    def told(self) -> int:
        """Of these, searches of which it is known what came back."""
        return self.ok - sum(part.untold for part in self.answers)

    @property
    def found(self) -> int:
        """Of these, searches with a real hit."""
        return self.told - sum(part.empty + part.padded_only for part in self.answers)

    @property
    def degraded(self) -> int:
        """Searches that ran with something missing."""
        return sum(part.degraded for part in self.mix)
