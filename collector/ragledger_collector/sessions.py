"""Sessions side by side, for a pass with much to do.

A project is worked on by one session at a time, since its epochs and totals are sums over all of its days; so no two
sessions ever write the same row. One of them holds the lock of the runner, the others are fenced by it (`Others`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue

from ragledger.errors import DatabaseUnavailable
from ragledger.postgres.connection import Connection

from . import arrivals
from .steps import Passed, Steps, Waiting

__all__ = ["Others", "Todo"]

Step = Callable[[Steps, Waiting], "Passed | None"]


class Todo:
    """Projects with work: a session takes one, does one step of it and puts it back behind the others."""

    def __init__(self, projects: Sequence[Waiting], step: Step, stopped: Callable[[], bool]) -> None:
        self._projects = deque(projects)
        self._step = step
        self._stopped = stopped
        self._given_up = False

    def work(self, steps: Steps) -> Iterator[Passed]:
        """Steps until no project is left that no other session works on."""
        while not (self._given_up or self._stopped()):
            try:
                waiting = self._projects.popleft()
            except IndexError:
                return
            passed = self._step(steps, waiting)
            if passed is not None:
                self._projects.append(waiting)
                yield passed

    def give_up(self) -> None:
        """After the steps at hand."""
        self._given_up = True


class Others:
    """Sessions that help the one that holds the lock of the runner.

    Each takes a shared lock of its own and works only when the runner's session still has its lock after that; a new
    runner works only when nobody has the shared one. So a helper that outlives its runner is never beside another runner.
    """

    def __init__(self, runner: Connection, connect: Callable[[], Connection], minutes: int) -> None:
        self._runner = runner.info.backend_pid
        self._connect = connect
        self._minutes = minutes
        self._told: SimpleQueue[Passed | Exception | None] = SimpleQueue()
        self._working = 0

    def beside(self, here: Steps, todo: Todo, others: int) -> Iterator[Passed]:
        """All steps, those of the others too. What fails in one of them fails here."""
        threads: list[threading.Thread] = []
        try:
            for _ in range(others):
                thread = threading.Thread(target=self._help, args=[todo], daemon=True)
                thread.start()
                threads.append(thread)
                self._working += 1
            for passed in todo.work(here):
                yield passed
                yield from self._heard(wait=False)
            yield from self._heard(wait=True)
        finally:
            todo.give_up()
            for thread in threads:
                thread.join()

    def _help(self, todo: Todo) -> None:
        """Whatever happens, the runner hears the end of it: it waits for that."""
        try:
            with self._connect() as connection:
                if arrivals.joined(connection, self._runner):
                    for passed in todo.work(Steps(connection, self._minutes)):
                        self._told.put(passed)
        except DatabaseUnavailable:  # only `connect` says so: one session fewer
            pass
        except Exception as exc:  # noqa: BLE001  the runner raises it
            self._told.put(exc)
        finally:
            self._told.put(None)

    def _heard(self, *, wait: bool) -> Iterator[Passed]:
        while self._working:
            try:
                told = self._told.get(block=wait)
            except Empty:
                return
            if told is None:
                self._working -= 1
            elif isinstance(told, Exception):
                raise told
            else:
                yield told
