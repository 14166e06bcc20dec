"""Landing records in the table: one transaction of binary COPYs and the writer's watermark.

A record that the database refuses is found by the error's own line number and rejected alone, so that its neighbours
land. A batch lands exactly once, whoever ships it and however often: the watermark moves in the same transaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol
from uuid import UUID

import msgspec
import psycopg
from psycopg.types.json import Jsonb
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range
from psycopg.types.string import BytesBinaryDumper

from ragledger.journal.state import Identity
from ragledger.model import FeedbackRecord, TextsRecord
from ragledger.sql import named_queries

from .connection import Connection
from .rows import TABLES, Entry, lines_of, rows_of
from .turns import InTurn

__all__ = ["STRETCH", "Store", "WatermarkMoved"]

STRETCH = 64
"""Records between two pauses: 1 to 2 ms of work."""

_LINE = re.compile(r"COPY (\w+), line (\d+)")
_LIMIT_EXCEEDED = "54"
_TEXTS = "search_texts"
_Keep = Callable[[list[Entry]], None]


class Writer(Protocol):
    """What the table is told of a stream of records: on a disk `journal.state.WriterState`, else in memory."""

    writer_id: UUID
    identity: Identity
    started_at: int
    pid: int

    @property
    def attempted(self) -> int: ...
    @property
    def shipped(self) -> int: ...
    @property
    def refused(self) -> dict[str, int]: ...


class WatermarkMoved(Exception):
    """Another shipper landed these numbers, or an earlier commit did although its answer was lost."""


class Store:
    """The writing side of the table on one connection.

    `pause` is called after every `STRETCH` records: work that holds the interpreter lock. `in_turn`: this process and the
    server never work at once.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        vote_deadline_h: float = 24.0,
        pause: Callable[[], None] = lambda: None,
        in_turn: bool = False,
    ) -> None:
        self._connection = connection
        self._pause = pause
        self._in_turn = in_turn
        self._queries = named_queries("ship")
        self._deadline_h = vote_deadline_h
        # Last registered for its type wins: bytes go by the dumper that is C.
        connection.adapters.register_dumper(bytes, BytesBinaryDumper)

    def register(self, state: Writer) -> int:
        """Makes the writer known; its watermark."""
        self._connection.execute(
            self._queries["register_writer"],
            {
                "writer_id": state.writer_id,
                "project": state.identity.project,
                "host": state.identity.host,
                "pid": state.pid,
                "shipped": state.shipped,
                "started_at": datetime.fromtimestamp(state.started_at / 1e6, tz=timezone.utc),
            },
        )
        row = self._connection.execute(self._queries["watermark"], {"writer_id": state.writer_id}).fetchone()
        return int(row[0]) if row else 0  # type: ignore[call-overload]

    def land(self, state: Writer, entries: Sequence[Entry], shipped: int, keep: _Keep) -> None:
        """Takes in consecutive numbers that follow `shipped`; those refused by the database are rejected alone.

        Args:
            keep: gets rejected entries before their transaction commits, since then nobody reads them again.

        Raises:
            WatermarkMoved: `shipped` is not where the table is.
            psycopg.OperationalError: the connection or the server gave up; nothing of the current part is in.
        """
        try:
            self._land_together(state, entries, shipped, keep)
        except (psycopg.Error, ValueError, TypeError, OverflowError) as exc:
            if not _is_refusal(exc):
                raise
            for part in _isolated(entries, exc):
                self.land(state, part, shipped, keep)
                shipped = part[-1].number

    def promote_pending(self) -> None:
        """Moves votes whose search has arrived into the table, and rejects those that can no longer be right."""
        row = self._connection.execute(self._queries["has_pending"]).fetchone()
        if not (row and row[0]):
            return
        with self._connection.transaction():
            row = self._connection.execute(self._queries["promotion_lock"]).fetchone()
            if row and row[0]:
                self._connection.execute(self._queries["promote"])
                self._connection.execute(
                    self._queries["reject_overdue"], {"deadline_s": self._deadline_h * 3600}
                )

    def report(self, state: Writer) -> None:
        """Refreshes the counters of a writer."""
        self._connection.execute(self._queries["report_counters"], _counters(state))

    def finish(self, state: Writer) -> None:
        """A dead writer's last word: nothing of it will come any more."""
        self._connection.execute(self._queries["finish_writer"], _counters(state))

    def _land_together(self, state: Writer, entries: Sequence[Entry], shipped: int, keep: _Keep) -> None:
        groups = _grouped(entries)
        if _TEXTS in groups and (reason := self._why_no_texts()) is not None:
            entries = [
                entry._replace(rejection=reason) if entry.table == _TEXTS else entry for entry in entries
            ]
            groups = _grouped(entries)
        if "searches" in groups:
            groups["hits"] = groups["searches"]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(
                self._queries["advance"],
                _counters(state)
                | {"last": entries[-1].number, "shipped": shipped, "landed": _landed(entries)},
            )
            if cursor.rowcount != 1:
                raise WatermarkMoved
            for target in TABLES:
                if target.name in groups:
                    writer = InTurn(cursor) if self._in_turn else None
                    with cursor.copy(self._queries[f"copy_{target.name}"], writer=writer) as copy:
                        copy.set_types(target.types)
                        self._write(copy, target.name, state.writer_id, groups[target.name])
            if rejected := [entry for entry in entries if entry.rejection is not None]:
                keep(rejected)

    def _why_no_texts(self) -> str | None:
        """Asked anew for each batch: `ragledger init --with-text` may be run at any time."""
        row = self._connection.execute(self._queries["keeps_texts"]).fetchone()
        exists, may_write = row if row is not None else (False, False)
        if not exists:
            return "no_text_table"
        return None if may_write else "no_text_right"

    def _write(self, copy: psycopg.Copy, table: str, writer_id: UUID, entries: Sequence[Entry]) -> None:
        write_row = copy.write_row
        for start in range(0, len(entries), STRETCH):
            for row in rows_of(table, writer_id, entries[start : start + STRETCH]):
                write_row(row)
            self._pause()


def _grouped(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.table, []).append(entry)
    return groups


def _counters(state: Writer) -> dict[str, Any]:
    refused = Jsonb(state.refused)
    return {"writer_id": state.writer_id, "attempted": state.attempted, "refused": refused}


def _landed(entries: Sequence[Entry]) -> Multirange[int]:
    numbers = [entry.number for entry in entries if entry.rejection is None and not entry.is_pending]
    if numbers and numbers[-1] - numbers[0] + 1 == len(numbers):  # as nearly always
        return Multirange([Range(numbers[0], numbers[-1] + 1, "[)")])
    ranges: list[Range[int]] = []
    start = 0
    for index, number in enumerate(numbers):
        if index + 1 == len(numbers) or numbers[index + 1] != number + 1:
            ranges.append(Range(numbers[start], number + 1, "[)"))
            start = index + 1
    return Multirange(ranges)


def _is_refusal(exc: BaseException) -> bool:
    """Whether it is about a record, and not about the connection, the server or the schema.

    What is no error of the database was raised while a record was encoded for it.
    """
    if not isinstance(exc, psycopg.Error):
        return True
    about_values = isinstance(exc, (psycopg.errors.DataError, psycopg.errors.IntegrityError))
    return about_values or (exc.sqlstate or "").startswith(_LIMIT_EXCEEDED)


def _isolated(entries: Sequence[Entry], exc: BaseException) -> list[Sequence[Entry]]:
    """The batch in parts: the refused record alone when the error names it, else in halves.

    What follows a refused record comes in halves too: where every record is refused, it would be sent over and over.
    """
    if len(entries) == 1:
        return [[_refused(entries[0], exc)]]
    index = _refused_index(entries, exc)
    start = index + 1 if index is not None else 0
    middle = (start + len(entries)) // 2
    parts = [entries[start:middle], entries[middle:]]
    if index is not None:
        parts = [entries[:index], [_refused(entries[index], exc)], *parts]
    return [part for part in parts if part]


def _refused_index(entries: Sequence[Entry], exc: BaseException) -> int | None:
    context = exc.diag.context if isinstance(exc, psycopg.Error) else None
    match = _LINE.search(context or "")
    if match is None:
        return None
    line = 0
    for index, entry in enumerate(entries):
        line += lines_of(match[1], entry)
        if line >= int(match[2]):
            return index
    return None


def _refused(entry: Entry, exc: BaseException) -> Entry:
    if entry.rejection is not None:
        raise exc  # not even the note of it is taken: that is about the table, not about a record
    record = entry.record
    orphaned = isinstance(exc, psycopg.errors.ForeignKeyViolation)
    if orphaned and isinstance(record, FeedbackRecord) and record.checked:
        # Its search is gone, or still in the journal of the process that this one was forked from.
        return entry._replace(record=msgspec.structs.replace(record, checked=False))
    if orphaned and isinstance(record, TextsRecord):
        return entry._replace(rejection="no_search")  # erased before its texts came, or rejected itself
    reason = exc.sqlstate if isinstance(exc, psycopg.Error) and exc.sqlstate else "unencodable"
    return entry._replace(rejection=f"database:{reason}")
