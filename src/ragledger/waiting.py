"""What waits in a journal directory, of every writer, dead or alive: for `doctor`, for metrics, for a sidecar.

Only looks: takes no lock, changes no counter.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import msgspec

from .journal import directory as files
from .journal import frames
from .journal.state import WriterState, lock_is_free
from .model import DeliveryRecord, FeedbackRecord, SearchRecord, TextsRecord, decode_record

__all__ = ["Waiting", "WriterHere", "is_alive", "oldest_in", "size_in", "waiting_in", "writers_in"]


class WriterHere(NamedTuple):
    """A writer's counters, as its lock file has them."""

    writer_id: UUID
    project: str
    host: str
    pid: int
    attempted: int
    published: int
    shipped: int
    refused: dict[str, int]

    @property
    def waiting(self) -> int:
        """Records that have not left the journal."""
        return max(0, self.published - self.shipped)

    @property
    def unfinished(self) -> int:
        """Appends that were begun and are not complete: of a live writer those of this very moment."""
        return max(0, self.attempted - self.published)


class Waiting(NamedTuple):
    """The sum over all writers."""

    records: int
    unfinished: int


def writers_in(directory: Path) -> list[WriterHere]:
    """Every writer whose files are here, oldest first."""
    found = []
    for path in files.locks(directory):
        state = WriterState.peek(path)
        if state is None:
            continue
        found.append(
            WriterHere(
                state.writer_id,
                state.identity.project,
                state.identity.host,
                state.pid,
                state.attempted,
                state.published,
                state.shipped,
                state.refused,
            )
        )
        state.close()
    return found


def is_alive(directory: Path, writer: WriterHere) -> bool:
    """Whether its process holds the lock."""
    return not lock_is_free(files.lock_path(directory, writer.writer_id.hex))


def waiting_in(directory: Path) -> Waiting:
    """What waits now. A directory that is not there, or cannot be read, holds nothing that anybody could ship."""
    writers = writers_in(directory)
    return Waiting(sum(writer.waiting for writer in writers), sum(writer.unfinished for writer in writers))


def size_in(directory: Path) -> int:
    """Bytes that all segments take; 0 where there is no directory."""
    try:
        return files.size_of(directory)
    except OSError:
        return 0


def oldest_in(directory: Path) -> int | None:
    """When the oldest record that waits was made, in microseconds since 1970; None when none waits.

    Read from the records themselves, so that it is right after a restart too. One segment per writer is looked through.
    """
    waiting = [writer for writer in writers_in(directory) if writer.waiting]
    made = [_oldest_us(directory, writer) for writer in waiting]
    return min((moment for moment in made if moment is not None), default=None)


def _oldest_us(directory: Path, writer: WriterHere) -> int | None:
    try:
        for _, path in files.segments(directory, writer.writer_id.hex):
            body = _first_after(path.read_bytes(), writer.shipped)
            if body is not None:
                return _made_us(body)
    except OSError:
        pass  # shipped and removed in between
    return None


def _first_after(segment: bytes, number: int) -> bytes | None:
    for found in frames.scan(segment, frames.HEADER_SIZE):
        if isinstance(found, frames.Frame) and found.number > number:
            return found.body
    return None


def _made_us(body: bytes) -> int | None:
    try:
        record = decode_record(body)
    except (msgspec.MsgspecError, ValueError):
        return None
    if isinstance(record, SearchRecord):
        return record.started_at
    if isinstance(record, FeedbackRecord):
        return record.given_at
    if isinstance(record, TextsRecord):
        return (record.search_id.int >> 80) * 1000  # a UUIDv7 says when the search was
    return record.delivered_at if isinstance(record, DeliveryRecord) else record.assessed_at
