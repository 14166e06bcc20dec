"""Writers and readers of a journal, without records that mean anything."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from ragledger.ids import new_id
from ragledger.journal.backlog import Backlog
from ragledger.journal.directory import lock_path
from ragledger.journal.state import Identity, WriterState
from ragledger.journal.writer import JournalWriter

WHO = Identity(project="test", host="here")
PLENTY = 1 << 30


def make_writer(directory: Path, *, cap_bytes: int = PLENTY, writer_id: UUID | None = None) -> JournalWriter:
    return JournalWriter(directory, writer_id or new_id(), WHO, cap_bytes)


def peek(writer: JournalWriter) -> Backlog:
    """A reader beside a writer that lives."""
    state = WriterState.peek(lock_path(writer.directory, writer.writer_id.hex))
    assert state is not None
    return Backlog(writer.directory, state, shipped=0, live=True)


def adopt(directory: Path, writer_id: UUID, *, shipped: int = 0) -> Backlog:
    """A reader of what a dead writer left."""
    state = WriterState.adopt(lock_path(directory, writer_id.hex))
    assert state is not None
    return Backlog(directory, state, shipped=shipped, live=False)


def die(writer: JournalWriter) -> None:
    """What SIGKILL does to a writer: nothing is sealed, the lock is free."""
    writer.state.close()


def drain(backlog: Backlog, limit: int = 500) -> tuple[list[tuple[int, bytes]], list[int]]:
    """(number, body) of everything readable, and the numbers that are damaged."""
    found: list[tuple[int, bytes]] = []
    damaged: list[int] = []
    while (batch := backlog.next_batch(limit)) is not None:
        assert batch.first == backlog.shipped + 1
        numbers = sorted([frame.number for frame in batch.frames] + list(batch.damaged))
        assert numbers == list(range(batch.first, batch.last + 1))
        found += [(frame.number, frame.body) for frame in batch.frames]
        damaged += batch.damaged
        backlog.commit(batch)
    return found, damaged


def left_behind(directory: Path, writer_id: UUID) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Everything that a dead writer left."""
    backlog = adopt(directory, writer_id)
    try:
        return drain(backlog)
    finally:
        backlog.close()


def left_by(writer: JournalWriter) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Kills the writer; everything that it left."""
    die(writer)
    return left_behind(writer.directory, writer.writer_id)
