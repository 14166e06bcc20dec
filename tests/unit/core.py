"""Doubles for the core's ports, and a ledger made of them: nothing here reaches a database or a tracing SDK."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from ragledger import Ledger
from ragledger.model import (
    AssessmentRecord,
    DeliveryRecord,
    FeedbackRecord,
    HitRecord,
    Record,
    SearchRecord,
)
from ragledger.ports import Narration, SpanFacts, TraceIds

SECRET = "SECRET-7f3a"  # stands for a query, a chunk, the text of an exception

NOWHERE_ID = UUID("00000000-0000-4000-8000-000000000000")
TRACE = TraceIds(b"t" * 16, b"s" * 8, True, "ours")

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(
    SearchRecord | DeliveryRecord | AssessmentRecord | FeedbackRecord
)


def round_trip(record: Record) -> Record:
    """Through the journal's encoding and back, types and ranges checked."""
    return _decoder.decode(_encoder.encode(record))


class DriverUUID(UUID):
    """As asyncpg's: a subclass, which msgspec does not encode."""


class MemorySink:
    """Keeps what a reader of the journal would decode, so that a record which cannot land fails its test."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.refusal: str | None = None

    def put(self, record: Record) -> str | None:
        if self.refusal is None:
            self.records.append(round_trip(record))
        return self.refusal

    @property
    def searches(self) -> list[SearchRecord]:
        return [record for record in self.records if isinstance(record, SearchRecord)]

    @property
    def row(self) -> SearchRecord:
        """The only search."""
        [row] = self.searches
        return row

    @property
    def hits(self) -> tuple[HitRecord, ...]:
        return self.row.hits

    @property
    def votes(self) -> list[FeedbackRecord]:
        return [record for record in self.records if isinstance(record, FeedbackRecord)]


@dataclass
class FrozenClock:
    """Stands still until a test moves it."""

    wall: int = 1_790_000_000_000_000_000
    ticks: int = 5_000_000_000

    def wall_ns(self) -> int:
        return self.wall

    def ticks_ns(self) -> int:
        return self.ticks

    def forward(self, ms: float) -> None:
        self.wall += int(ms * 1e6)
        self.ticks += int(ms * 1e6)


@dataclass
class Telling(Narration):
    """A narration that writes down what it was told."""

    log: list[Any]
    trace: TraceIds = TRACE

    def attach(self) -> None:
        self.log.append("attach")

    def detach(self) -> None:
        self.log.append("detach")

    def close(self, record: SearchRecord | None, row_status: str, end_ns: int) -> None:
        self.log.append(("close", record.status if record else None, row_status, end_ns))


@dataclass
class Teller:
    """Implements `ports.Narrator`."""

    log: list[Any] = field(default_factory=list)

    def open(self, facts: Callable[[], SpanFacts]) -> Narration | None:
        self.log.append(facts())
        return Telling(self.log)


@dataclass
class World:
    """A ledger and what it is made of."""

    ledger: Ledger
    sink: MemorySink
    clock: FrozenClock
    narrator: Any

    @property
    def faults(self) -> dict[str, int]:
        return self.ledger.guard.faults
