"""The steps of a pass on one connection, each of them one bounded transaction about one project.

A step reads one snapshot and writes what follows from it together with the note that it was done; killed between two
steps, the next pass goes on there. The statements are in `sql/`; why it is right is in docs/decisions.md, 49.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import msgspec
from msgspec.structs import astuple
from psycopg import sql
from psycopg.errors import QueryCanceled

from ragledger.postgres.connection import Connection
from ragledger.sql import named_queries

from . import arrivals
from .corpora import count_corpora

__all__ = ["Passed", "Steps", "Waiting"]

_TABLES = ("searches", "latency", "words", "shown", "votes", "judged")
_SUMS = (*_TABLES, "latency_parts")  # the last one comes with the hours and days of `latency`
_GRAINS = (("hour", "minute", "1 hour"), ("day", "hour", "24 hours"))
_FIRST = datetime(1, 1, 1, tzinfo=timezone.utc)
_SETTINGS = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
# Every join here is by index from few rows; the planner cannot know how few, nor how large a table is that grew since.
_BY_INDEX = """
SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('enable_seqscan', 'off', true)
"""

Due = dict[str, Any]


class Passed(msgspec.Struct, frozen=True):
    """What a pass did."""

    records: int = 0
    minutes: int = 0
    sealed: int = 0
    days: int = 0

    def __add__(self, other: Passed) -> Passed:
        return Passed(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Waiting:
    """A project with work for some steps, and up to which day its documents were counted in this pass."""

    project: str
    steps: float
    day: datetime = _FIRST


class Steps:
    """The steps on one connection."""

    def __init__(self, connection: Connection, minutes: int) -> None:
        self._connection = connection
        self._minutes = minutes
        self._at_once = minutes  # fewer after a step that took longer than a statement may

    def arrived(self, part: Sequence[tuple[Any, arrivals.Numbers]]) -> Passed:
        """Looks at these numbers of writers."""
        given = arrivals.given(part)
        with self._step():
            self._connection.execute(arrivals.query("mark") + "\n" + arrivals.query("touched"), given)
            self._connection.execute(arrivals.query("looked_at"), given)
        return Passed(records=sum(arrivals.size(ranges) for _, ranges in part))

    def minutes(self, waiting: Waiting) -> Passed | None:
        """Some of a project's minutes, computed again; None when none of them waits."""
        try:
            computed = self._compute(waiting.project)
        except QueryCanceled:
            if self._at_once == 1:
                raise
            self._at_once //= 2
            return Passed()
        # Slowly, or dense minutes would be cancelled every other time.
        self._at_once = min(self._minutes, self._at_once + 1 + self._at_once // 8)
        return computed

    def documents(self, waiting: Waiting) -> Passed | None:
        """The documents of a project's next day; None when no later one waits."""
        queries = named_queries("documents", "ragledger_collector.sql")
        with self._step(by_index=False):
            row: Any = self._connection.execute(
                queries["next_day"], {"project": waiting.project, "day": waiting.day}
            ).fetchone()
            if row is None:
                return None
            day, sealed = row
            of = {"project": waiting.project, "day": day}
            if not sealed:
                self._count_day(of)
            self._connection.execute(queries["done"], of)
        waiting.day = day
        return Passed(days=1)

    def corpora(self) -> Iterator[Passed]:
        """The corpora whose documents or inventory have changed."""
        for _ in count_corpora(self._connection, lambda: self._step(by_index=False)):
            yield Passed()

    def _compute(self, project: str) -> Passed | None:
        with self._step():
            batch: list[Any] = self._connection.execute(
                arrivals.query("batch"), {"project": project, "limit": self._at_once}
            ).fetchall()
            if not batch:
                return None
            open_ones = [bucket for bucket, sealed in batch if not sealed]
            if open_ones:
                self._recompute(project, open_ones)
            self._connection.execute(arrivals.query("done"), _due(project, [bucket for bucket, _ in batch]))
        return Passed(minutes=len(open_ones), sealed=len(batch) - len(open_ones))

    def _recompute(self, project: str, minutes: Sequence[datetime]) -> None:
        due = _due(project, minutes)
        days = _due(project, _starting(minutes, hour=0, minute=0))
        epochs = set(self._connection.execute(_sums("epochs_of"), days))
        self._minute(due)
        for grain, finer, length in _GRAINS:
            coarse = days if grain == "day" else _due(project, _starting(minutes, minute=0))
            for table in _SUMS:
                self._clear(table, grain, coarse)
            for table in _TABLES:
                self._connection.execute(
                    _of(table, "finer") + sql.SQL("\n" + _sums(f"sum_{table}")),
                    {**coarse, "grain": grain, "finer": finer, "length": length},
                )
        epochs |= set(self._connection.execute(_sums("epochs_of"), days))
        touched = {"project": project, "epochs": [epoch for (epoch,) in epochs]}
        self._connection.execute(_sums("clear_epochs"), touched)
        self._connection.execute(_sums("epochs"), touched)
        self._connection.execute(arrivals.query("mark_days"), due)

    def _minute(self, due: Due) -> None:
        for table in _TABLES:
            self._clear(table, "minute", due)
        self._connection.execute(named_queries("minutes", "ragledger_collector.sql")["minute"], due)

    def _clear(self, table: str, grain: str, due: Due) -> None:
        self._connection.execute(_of(table, "clear"), {**due, "grain": grain})

    def _count_day(self, of: dict[str, Any]) -> None:
        queries = named_queries("documents", "ragledger_collector.sql")
        touched: set[Any] = set(self._connection.execute(queries["documents_of"], of))
        self._connection.execute(queries["clear_day"], of)
        self._connection.execute(queries["day"], of)
        touched |= set(self._connection.execute(queries["documents_of"], of))
        documents = {"corpora": [corpus for corpus, _ in touched], "documents": [name for _, name in touched]}
        self._connection.execute(queries["clear_totals"], {**of, **documents})
        self._connection.execute(queries["totals"], {**of, **documents})

    @contextmanager
    def _step(self, *, by_index: bool = True) -> Iterator[None]:
        with self._connection.transaction():
            self._connection.execute(_SETTINGS)
            if by_index:
                self._connection.execute(_BY_INDEX)
            yield


def _sums(name: str) -> Any:
    return named_queries("sums", "ragledger_collector.sql")[name]


def _of(table: str, name: str) -> sql.Composed:
    """A statement of `sql/sums.sql` that is the same for each table."""
    return sql.SQL(_sums(name)).format(table=sql.Identifier(f"rollup_{table}"))


def _due(project: str, buckets: Sequence[datetime]) -> Due:
    return {"project": project, "buckets": list(buckets)}


def _starting(minutes: Sequence[datetime], **at: int) -> list[datetime]:
    """The hours or days that hold these minutes, each once."""
    return sorted({minute.astimezone(timezone.utc).replace(**at) for minute in minutes})  # type: ignore[arg-type]
