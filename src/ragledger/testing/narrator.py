"""Narration that is written down instead of traced: what a span would have been told, without an SDK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragledger.model import SearchRecord
from ragledger.ports import Narration, SpanFacts, TraceIds

__all__ = ["MemoryNarration", "MemoryNarrator"]

_TRACE = TraceIds(b"t" * 16, b"s" * 8, sampled=True, owner="ours")


@dataclass
class MemoryNarration(Narration):
    """Implements `ports.Narration`."""

    log: list[Any]
    trace: TraceIds = _TRACE

    def attach(self) -> None:
        """Notes "attach"."""
        self.log.append("attach")

    def detach(self) -> None:
        """Notes "detach"."""
        self.log.append("detach")

    def hear(self, query: str | None, chunks: Sequence[str | None]) -> None:
        """Notes that it was told a text, and not which."""
        self.log.append(("hear", query is not None, len(chunks)))

    def close(self, record: SearchRecord | None, row_status: str, end_ns: int) -> None:
        """Notes how it ended."""
        self.log.append(("close", record.status if record is not None else None, row_status, end_ns))


@dataclass
class MemoryNarrator:
    """Implements `ports.Narrator`: `log` holds, in order, the facts of an opening and what its narration was told."""

    log: list[Any] = field(default_factory=list)
    wants_text: bool = False

    def open(self, facts: Callable[[], SpanFacts]) -> Narration | None:
        """Always listens."""
        self.log.append(facts())
        return MemoryNarration(self.log)
