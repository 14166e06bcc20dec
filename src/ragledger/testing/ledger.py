"""A ledger without database and disk: the real recorder, the real rules of votes, rows in a list."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragledger.guard import Guard
from ragledger.ledger import Ledger
from ragledger.parts import Parts
from ragledger.settings import Settings
from ragledger.spans import OtelNarrator
from ragledger.spans.contents import contents_from

from .backend import MemoryBackend
from .clock import FrozenClock

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from ragledger.model import AssessmentRecord, DeliveryRecord, FeedbackRecord, HitRecord, SearchRecord
    from ragledger.ports import Narrator

__all__ = ["MemoryLedger", "memory_ledger"]

_numbers = itertools.count(1)


class MemoryLedger(Ledger):
    """A `Ledger` whose rows are in `searches`, `hits`, `votes`, `deliveries` and `assessments`. Close it.

    A search id is a UUIDv7 of the clock's time and a number that counts up: in order, and never twice in a process.
    """

    def __init__(
        self,
        *,
        name: str = "default",
        clock: FrozenClock | None = None,
        narrator: Narrator | None = None,
        backend: MemoryBackend | None = None,
        tracer_provider: TracerProvider | None = None,
        **settings: Any,
    ) -> None:
        self.backend = backend if backend is not None else MemoryBackend()
        self.clock = clock if clock is not None else FrozenClock()
        # The adapters take two ledgers of one name and one dsn for the same.
        given: dict[str, Any] = {
            "dsn": f"memory:{next(_numbers)}",
            "project": "test",
            "strict": True,
        } | settings
        chosen = Settings.from_env({}, **given)
        parts = Parts(
            guard=Guard(strict=chosen.strict),
            backend=self.backend,
            lookup=self.backend,
            key=chosen.key or b"ragledger.testing",
            narrator=narrator
            if narrator is not None
            else OtelNarrator(tracer_provider, contents_from(chosen, os.environ)),
            clock=self.clock,
            release=_nothing,
        )
        super().__init__(chosen, parts, name=name)
        self.recorder.new_id = self._next_id

    @property
    def searches(self) -> list[SearchRecord]:
        """The rows of `searches`, in the order in which the searches ended."""
        return self.backend.searches

    @property
    def row(self) -> SearchRecord:
        """The only search. Fails when there is none or more than one."""
        return self.backend.row

    @property
    def hits(self) -> tuple[HitRecord, ...]:
        """The rows of `hits`, of every search."""
        return self.backend.hits

    @property
    def votes(self) -> list[FeedbackRecord]:
        """The rows of `feedback` and of `pending_feedback`."""
        return self.backend.votes

    @property
    def deliveries(self) -> list[DeliveryRecord]:
        """The rows of `deliveries`."""
        return self.backend.deliveries

    @property
    def assessments(self) -> list[AssessmentRecord]:
        """The rows of `assessments`."""
        return self.backend.assessments

    def _next_id(self) -> UUID:
        milliseconds = self.clock.wall_ns() // 1_000_000
        return UUID(int=milliseconds << 80 | 0x7 << 76 | 0b10 << 62 | next(_numbers))


def _nothing() -> None:
    """There is nothing to give up."""


@contextmanager
def memory_ledger(
    *,
    name: str = "default",
    clock: FrozenClock | None = None,
    tracer_provider: TracerProvider | None = None,
    backend: MemoryBackend | None = None,
    **settings: Any,
) -> Iterator[MemoryLedger]:
    """Opens a ledger in memory and closes it at the end of the block; what it recorded can still be read then.

    Args:
        name: how marked retrievers find the ledger.
        clock: default a `FrozenClock`.
        tracer_provider: default the global one.
        settings: fields of `Settings`. `strict` is on: a fault of ours fails the test that met it.
    """
    ledger = MemoryLedger(
        name=name, clock=clock, backend=backend, tracer_provider=tracer_provider, **settings
    )
    try:
        yield ledger
    finally:
        ledger.close()
