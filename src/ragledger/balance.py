"""The sum of promise P5, per writer, from the database and the journal directory.

    offered = written + waiting + pending + rejected + refused + unfinished

`offered` is what the application handed over: appends begun plus refusals. `unfinished` are appends during which the process
died or was interrupted, before any receipt was given out. `removed` is the part of written that retention or erasure took:
whoever deletes rows adds their numbers to `writers.removed` in the same transaction, and those of pending votes to `landed`
as well, since their fate was still open.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from .journal import directory as files
from .journal.salvage import strays
from .journal.state import WriterState
from .postgres.connection import keeps_texts
from .sql import named_queries

if TYPE_CHECKING:
    from .postgres.connection import Connection

__all__ = ["WriterBalance", "balances"]

_NOTHING = "{}"


class WriterBalance(msgspec.Struct, frozen=True, kw_only=True):
    """One writer's account. `faults` names every gap and overlap of its numbers; empty when it balances."""

    writer_id: UUID
    project: str
    host: str
    pid: int
    state: str
    offered: int
    written: int
    waiting: int
    pending: int
    rejected: int
    refused: int
    unfinished: int
    removed: int
    faults: tuple[str, ...] = ()

    @property
    def difference(self) -> int:
        """0 when every record that was offered has a fate."""
        known = self.written + self.waiting + self.pending + self.rejected + self.refused + self.unfinished
        return self.offered - known


class _Row(msgspec.Struct, frozen=True):
    writer_id: UUID
    project: str
    host: str
    pid: int
    finished: bool
    attempted: int
    refused: int
    base: int
    shipped: int
    written: int
    removed: int
    pending: int
    rejected: int
    gaps: str
    overlaps: str
    missing: str
    unexpected: str
    never_landed: str
    doubled: int


class _Local(msgspec.Struct, frozen=True):
    attempted: int
    published: int
    refused: int
    project: str
    host: str
    pid: int


_NO_FACTS = _Local(attempted=0, published=0, refused=0, project="unknown", host="unknown", pid=0)


def balances(connection: Connection, directory: Path) -> list[WriterBalance]:
    """Every writer that the table or the journal directory of this host knows."""
    local = _local(directory)
    queries = named_queries("balance")
    of_texts = queries["of_texts"] if keeps_texts(connection) else ""
    query = "\n".join((queries["rows"], of_texts, queries["fates"]))
    cursor = connection.execute(query, {"writer_id": None})
    rows = [_Row(*row) for row in cursor.fetchall()]  # type: ignore[arg-type]
    found = [_account(row, local.pop(row.writer_id, None)) for row in rows]
    found += [_unseen(writer_id, facts) for writer_id, facts in sorted(local.items())]
    unreadable = {UUID(hex=stray.writer): stray.why for stray in strays(directory)}
    known = {balance.writer_id for balance in found}
    found += [_unseen(writer_id, _NO_FACTS) for writer_id in unreadable if writer_id not in known]
    return [_with_doubt(balance, unreadable.get(balance.writer_id)) for balance in found]


def _with_doubt(balance: WriterBalance, why: str | None) -> WriterBalance:
    if why is None:
        return balance
    words = f"{why}: what it left here is not counted; `ragledger ship` mends what can be mended"
    return msgspec.structs.replace(balance, faults=(*balance.faults, words))


def _local(directory: Path) -> dict[UUID, _Local]:
    found = {}
    for path in files.locks(directory):
        state = WriterState.peek(path)
        if state is None:
            continue
        found[state.writer_id] = _Local(
            state.attempted,
            state.published,
            sum(state.refused.values()),
            state.identity.project,
            state.identity.host,
            state.pid,
        )
        state.close()
    return found


def _account(row: _Row, local: _Local | None) -> WriterBalance:
    attempted = max(row.attempted, local.attempted if local is not None else 0)
    published = max(row.shipped, local.published if local is not None else 0)
    refused = max(row.refused, local.refused if local is not None else 0)
    balance = WriterBalance(
        writer_id=row.writer_id,
        project=row.project,
        host=row.host,
        pid=row.pid,
        state="finished" if row.finished else "on this host" if local is not None else "elsewhere",
        # Numbers up to `base` went to a former database: they are none of this one's business.
        offered=attempted - row.base + refused,
        written=row.written,
        waiting=published - row.shipped,
        pending=row.pending,
        rejected=row.rejected,
        refused=refused,
        unfinished=max(0, attempted - published),
        removed=row.removed,
        faults=tuple(_faults(row)),
    )
    if balance.difference:
        words = f"{balance.difference} record(s) have no fate"
        return msgspec.structs.replace(balance, faults=(*balance.faults, words))
    return balance


def _faults(row: _Row) -> list[str]:
    named: dict[str, Any] = {
        "numbers without a fate": row.gaps,
        "numbers with two fates": row.overlaps,
        "numbers whose rows are gone": row.missing,
        "rows whose numbers are not accounted for": row.unexpected,
        "numbers removed that never landed": row.never_landed,
    }
    found = [f"{words}: {numbers}" for words, numbers in named.items() if numbers != _NOTHING]
    if row.doubled:
        found.append(f"{row.doubled} number(s) with more than one row")
    return found


def _unseen(writer_id: UUID, facts: _Local) -> WriterBalance:
    """A writer whose journal nobody has shipped from yet."""
    return WriterBalance(
        writer_id=writer_id,
        project=facts.project,
        host=facts.host,
        pid=facts.pid,
        state="on this host, not seen by the table",
        offered=facts.attempted + facts.refused,
        written=0,
        waiting=facts.published,
        pending=0,
        rejected=0,
        refused=facts.refused,
        unfinished=facts.attempted - facts.published,
        removed=0,
    )
