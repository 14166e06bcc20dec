"""One pass: what is new becomes dirty minutes, dirty minutes become rollups. Each step is one bounded transaction.

A step reads one snapshot and writes what follows from it together with the note that it was done; killed between two
steps, the next pass goes on there. The statements are in `sql/`; why it is right is in docs/decisions.md, 49.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import astuple
from psycopg import sql
from psycopg.errors import QueryCanceled

from ragledger.errors import CollectorBusy
from ragledger.postgres.connection import Connection
from ragledger.sql import named_queries

from . import arrivals
from .corpora import count_corpora

__all__ = ["Collector", "Passed"]

NUMBERS = 20_000
"""Arrived records looked at in one transaction."""
MINUTES = 240
"""Minutes of a project computed in one transaction, at most."""

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
Step = Callable[[int], None]
Stopped = Callable[[], bool]


class Passed(msgspec.Struct, frozen=True):
    """What a pass did."""

    records: int = 0
    minutes: int = 0
    sealed: int = 0
    days: int = 0

    def __add__(self, other: Passed) -> Passed:
        return Passed(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class Collector:
    """The rollup job on one connection."""

    def __init__(self, connection: Connection, *, numbers: int = NUMBERS, minutes: int = MINUTES) -> None:
        self._connection = connection
        self._numbers = numbers
        self._minutes = minutes
        self._at_once = minutes  # fewer after a step that took longer than a statement may

    def lock(self) -> None:
        """Becomes the one runner of this schema, for as long as the session lives.

        Raises:
            CollectorBusy: another session is.
        """
        row = self._connection.execute(arrivals.query("lock")).fetchone()
        if row is None or not row[0]:
            raise CollectorBusy

    def run(
        self, *, documents: bool = True, step: Step = lambda _: None, stopped: Stopped = lambda: False
    ) -> Passed:
        """Everything that had arrived when the pass began.

        `step` hears of records, minutes and days as they are done; between two steps `stopped` may end the pass.
        """
        steps = (
            self._look_at_arrivals(),
            self._compute_minutes(),
            *([self._count_documents()] if documents else []),
        )
        return _walked(chain(*steps), step, stopped)

    def count_documents(self, *, step: Step = lambda _: None, stopped: Stopped = lambda: False) -> Passed:
        """The days whose documents wait, as `run` does after the minutes."""
        return _walked(self._count_documents(), step, stopped)

    def _look_at_arrivals(self) -> Iterator[Passed]:
        for part in arrivals.parts(arrivals.behind(self._connection), self._numbers):
            given = arrivals.given(part)
            with self._step():
                self._connection.execute(arrivals.query("mark") + "\n" + arrivals.query("touched"), given)
                self._connection.execute(arrivals.query("looked_at"), given)
            yield Passed(records=sum(arrivals.size(ranges) for _, ranges in part))

    def _compute_minutes(self) -> Iterator[Passed]:
        while True:
            try:
                computed = self._compute_batch()
            except QueryCanceled:
                if self._at_once == 1:
                    raise
                self._at_once //= 2
                yield Passed()
                continue
            if computed is None:
                return
            # Slowly, or dense minutes would be cancelled every other time.
            self._at_once = min(self._minutes, self._at_once + 1 + self._at_once // 8)
            yield computed

    def _compute_batch(self) -> Passed | None:
        with self._step():
            batch: list[Any] = self._connection.execute(
                arrivals.query("batch"), {"limit": self._at_once}
            ).fetchall()
            if not batch:
                return None
            open_ones = [bucket for _, bucket, sealed in batch if not sealed]
            if open_ones:
                self._recompute(batch[0][0], open_ones)
            self._connection.execute(arrivals.query("done"), _due(batch[0][0], [row[1] for row in batch]))
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

    def _count_documents(self) -> Iterator[Passed]:
        queries = named_queries("documents", "ragledger_collector.sql")
        last: dict[str, Any] = {"project": "", "day": _FIRST}
        while True:
            with self._step(by_index=False):
                row: Any = self._connection.execute(queries["next_day"], last).fetchone()
                if row is None:
                    break
                last = {"project": row[0], "day": row[1]}
                if not row[2]:
                    self._count_day(last)
                self._connection.execute(queries["done"], last)
            yield Passed(days=1)
        for _ in count_corpora(self._connection, lambda: self._step(by_index=False)):
            yield Passed()

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


def _walked(steps: Iterable[Passed], step: Step, stopped: Stopped) -> Passed:
    passed = Passed()
    for one in steps:
        passed += one
        step(sum(astuple(one)))
        if stopped():
            break
    return passed


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
