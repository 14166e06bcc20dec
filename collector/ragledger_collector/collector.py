"""One pass: what is new becomes dirty minutes, dirty minutes become rollups, and so do the days of documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

from msgspec.structs import astuple

from ragledger.errors import CollectorBusy
from ragledger.postgres.connection import Connection
from ragledger.schema import check

from . import arrivals
from .sessions import Others, Todo
from .steps import Passed, Steps, Waiting

__all__ = ["Collector", "Passed"]

NUMBERS = 20_000
"""Arrived records looked at in one transaction."""
MINUTES = 240
"""Minutes of a project computed in one transaction, at most."""
SESSIONS = min(2, os.cpu_count() or 1)
"""Sessions side by side when there is much to do, at most."""
_STEPS_EACH = 2  # fewer are done before another session has come

Told = Callable[[int], None]
Stopped = Callable[[], bool]


class Collector:
    """The rollup job on one connection, and on others that `connect` makes where there is much to do."""

    def __init__(
        self,
        connection: Connection,
        *,
        numbers: int = NUMBERS,
        minutes: int = MINUTES,
        connect: Callable[[], Connection] | None = None,
        sessions: int = SESSIONS,
    ) -> None:
        self._connection = connection
        self._numbers = numbers
        self._minutes = minutes
        self._steps = Steps(connection, minutes)
        self._connect = connect
        self._sessions = sessions

    def lock(self) -> None:
        """Becomes the one runner of this schema, for as long as the session lives.

        Raises:
            CollectorBusy: another session is, or works for one that was; or the schema is being changed.
            SchemaError: the schema was changed since the session was opened. From now on it is not.
        """
        if not arrivals.led(self._connection):
            raise CollectorBusy
        check(self._connection, arrivals.schema_of(self._connection))

    def run(
        self, *, documents: bool = True, step: Told = lambda _: None, stopped: Stopped = lambda: False
    ) -> Passed:
        """Everything that had arrived when the pass began.

        `step` hears of records, minutes and days as they are done, in this thread and between two transactions of the
        connection; there `stopped`, which other threads ask too, may end the pass.
        """
        work = [_until(stopped, self._look_at_arrivals()), self._compute_minutes(stopped)]
        if documents:
            work.append(self._count_documents(stopped))
        return _walked(work, step, stopped)

    def count_documents(self, *, step: Told = lambda _: None, stopped: Stopped = lambda: False) -> Passed:
        """The days whose documents wait, as `run` does after the minutes."""
        return _walked([self._count_documents(stopped)], step, stopped)

    def _look_at_arrivals(self) -> Iterator[Passed]:
        for part in arrivals.parts(arrivals.behind(self._connection), self._numbers):
            yield self._steps.arrived(part)

    def _compute_minutes(self, stopped: Stopped) -> Iterator[Passed]:
        waiting = self._waiting("waiting_minutes", at_once=self._minutes)
        yield from self._shared(Todo(waiting, Steps.minutes, stopped), waiting)

    def _count_documents(self, stopped: Stopped) -> Iterator[Passed]:
        waiting = self._waiting("waiting_days", at_once=1)
        yield from self._shared(Todo(waiting, Steps.documents, stopped), waiting)
        if not stopped():
            yield from _until(stopped, self._steps.corpora())

    def _waiting(self, query: str, *, at_once: int) -> list[Waiting]:
        """Projects with work, those with the most of it first, so that sessions end together."""
        rows: list[Any] = self._connection.execute(arrivals.query(query)).fetchall()
        return [Waiting(project, count / at_once) for project, count in rows]

    def _shared(self, todo: Todo, waiting: list[Waiting]) -> Iterator[Passed]:
        steps = sum(one.steps for one in waiting)
        sessions = min(self._sessions, len(waiting), int(steps) // _STEPS_EACH)
        if self._connect is None or sessions < 2:
            return todo.work(self._steps)
        return Others(self._connection, self._connect, self._minutes).beside(self._steps, todo, sessions - 1)


def _until(stopped: Stopped, steps: Iterable[Passed]) -> Iterator[Passed]:
    """Steps that one session does, until it is stopped between two of them, as `Todo.work` is."""
    for one in steps:
        yield one
        if stopped():
            return


def _walked(work: Iterable[Iterator[Passed]], step: Told, stopped: Stopped) -> Passed:
    passed = Passed()
    for steps in work:
        with closing(steps):  # type: ignore[type-var]
            for one in steps:
                passed += one
                step(sum(astuple(one)))
        if stopped():
            break
    return passed
