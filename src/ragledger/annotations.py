"""Votes told to tracing backends as annotations of the search's span. Best effort: the table is where votes live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from .bounded import forget_oldest
from .model import Outcome
from .ports import TraceIds

if TYPE_CHECKING:
    from .guard import Guard
    from .model import ActorKind, FeedbackRecord, SearchRecord

__all__ = ["Annotation", "Annotations", "Teller"]

NAME = "relevance"
_SCORES: dict[Outcome, float] = {
    "not_relevant": 0.0,
    "partially_relevant": 1 / 3,
    "relevant": 2 / 3,
    "highly_relevant": 1.0,
}
_MOST = 2048


class Annotation(NamedTuple):
    """A vote as a backend takes it: no text, and nobody's name. `trace` is the span of the search it judges."""

    trace: TraceIds
    search_id: UUID
    vote_id: UUID
    rank: int
    label: Outcome
    score: float
    by_human: bool


Teller = Callable[[Annotation], None]
"""Tells one backend. Must be quick."""


class Annotations:
    """Implements `ports.Listener`: keeps the span of the latest searches, and tells each vote that was checked.

    Args:
        find_trace: asks the table about a search of another process.
    """

    def __init__(
        self, tellers: Sequence[Teller], find_trace: Callable[[UUID], TraceIds | None], guard: Guard
    ) -> None:
        self._tellers = tellers
        self._find_trace = find_trace
        self._guard = guard
        self._traces: dict[UUID, TraceIds] = {}

    def searched(self, record: SearchRecord) -> None:
        """Keeps the ids of its span; forgets the oldest past the limit."""
        if record.trace_id is None or record.span_owner is None:
            return  # ids that came with a request, of a span that is not the search's
        self._traces[record.search_id] = TraceIds(
            record.trace_id, record.span_id, record.sampled, record.span_owner
        )
        if len(self._traces) > _MOST:
            forget_oldest(self._traces)

    def voted(self, record: FeedbackRecord) -> None:
        """Tells it. One whose search is not known yet is not told: it may still be refused."""
        with self._guard("annotations"):
            if record.outcome is None or record.rank is None or not record.checked:
                return
            trace = self._traces.get(record.search_id) or self._find_trace(record.search_id)
            if trace is None or trace.trace_id is None:
                return
            annotation = Annotation(
                trace,
                record.search_id,
                record.feedback_id,
                record.rank,
                record.outcome,
                _SCORES[record.outcome],
                _is_human(record.actor_kind),
            )
            for tell in self._tellers:
                with self._guard("annotations"):
                    tell(annotation)


def _is_human(kind: ActorKind) -> bool:
    return kind == "human"
