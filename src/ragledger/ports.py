"""What the recorder needs of the outside: the smallest things, each with its promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from uuid import UUID

from msgspec import Struct

if TYPE_CHECKING:
    from .model import FeedbackRecord, Record, SearchRecord, Votable

__all__ = [
    "FATE_UNKNOWN",
    "Backend",
    "HitLookup",
    "Interrupted",
    "Listener",
    "Narration",
    "Narrator",
    "Sink",
    "SpanFacts",
    "TraceIds",
]

FATE_UNKNOWN = "fate_unknown"
"""What a sink answers when it cannot know whether the record was kept: the one answer that is no refusal."""


class Interrupted(BaseException):
    """Something of the application's own was raised while a sink waited: `cause` goes on to the caller."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class Sink(Protocol):
    """Takes records to where they survive the process."""

    def put(self, record: Record) -> str | None:
        """Keeps the record, in a bounded and short time. None when kept, else the reason of the refusal.

        Raises:
            Interrupted: from a sink that waits.
        """
        ...


class Backend(Sink, Protocol):
    """A sink with the work behind it. `kept_as` is what a kept record's receipt says."""

    kept_as: Literal["journalled", "written"]

    def drain(self, timeout_s: float) -> bool:
        """Tries to have everything in the table; True when it is."""
        ...

    def close(self, timeout_s: float) -> None:
        """Ends the work, in about that time. What a journal keeps stays there; what nothing keeps is said."""
        ...

    def after_fork(self) -> None:
        """In the child: threads and connections of the parent do not exist here."""
        ...

    def facts(self) -> dict[str, Any]:
        """Counters for a person: attempted, shipped, refused by reason, ..."""
        ...


class TraceIds(NamedTuple):
    """The span that narrates a search, for the row. All None where there is no valid span."""

    trace_id: bytes | None = None
    span_id: bytes | None = None
    sampled: bool | None = None
    owner: str | None = None


class SpanFacts(Struct, frozen=True, gc=False):
    """What a span says at its start: sampling sees only these."""

    search_id: UUID
    framework: str
    corpus: str | None
    surface: str | None
    top_k: int | None
    start_ns: int


class Narration(Protocol):
    """The span of one search."""

    trace: TraceIds

    def attach(self) -> None:
        """Makes the span current."""
        ...

    def detach(self) -> None:
        """Undoes `attach`, also from another context, without a log line."""
        ...

    def hear(self, query: str | None, chunks: Sequence[str | None]) -> None:
        """Takes text, for a narrator that wants it, and forgets it when it is closed. Chunks in the order returned."""
        ...

    def close(self, record: SearchRecord | None, row_status: str, end_ns: int) -> None:
        """Says how it ended; without a record only that it did. Never an exception's message, text only if heard."""
        ...


class Narrator(Protocol):
    """Tells a tracing backend about searches. What it says is never measured.

    `wants_text` is false unless text on spans was switched on, twice.
    """

    wants_text: bool

    def open(self, facts: Callable[[], SpanFacts]) -> Narration | None:
        """Starts the span; None when nobody listens, and then `facts` is not asked."""
        ...


class Listener(Protocol):
    """Hears of what was recorded, for others: metrics, tracing backends. Must be quick."""

    def searched(self, record: SearchRecord) -> None:
        """A search has ended; its row was kept or refused."""
        ...

    def voted(self, record: FeedbackRecord) -> None:
        """A vote was kept."""
        ...


class HitLookup(Protocol):
    """Checks a vote for a search that this process did not make."""

    def find(self, search_id: UUID) -> Votable | None:
        """The admitted hits of a search, best first; None when there is no such search.

        Raises:
            DatabaseUnavailable: it cannot be checked now.
        """
        ...
