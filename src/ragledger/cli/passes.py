"""Pass after pass of the collector until a signal: what it tells of them, and who is told that it is ready."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
import typer
from psycopg.errors import InsufficientPrivilege

from ragledger.errors import CollectorBusy, DatabaseUnavailable, RagledgerError
from ragledger.postgres.connection import translated

from .ending import Ending
from .outlets import Outlets
from .pace import Pace
from .readiness import Readiness
from .session import session_for

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection
    from ragledger.wiring import Target
    from ragledger_collector.collector import Collector, Passed

__all__ = ["Passes", "collector_on", "permitted", "tell"]

_DOCUMENTS_EVERY_S = 600.0
_TOLD_EVERY_S = 60.0  # in the middle of a pass, at the latest


class Passes:
    """The loop of `ragledger collect --every`."""

    def __init__(
        self, target: Target, every_s: float, outlets: Outlets, readiness: Readiness, *, as_json: bool
    ) -> None:
        self._target = target
        self._every_s = every_s
        self._outlets = outlets
        self._readiness = readiness
        self._as_json = as_json
        self._ending = Ending()
        self._documents = Documents(every_s)
        self._pace = Pace(min(every_s, _TOLD_EVERY_S))
        self._failed = ""

    def follow(self) -> None:
        """Until SIGTERM or SIGINT. The database may go away and come back."""
        with self._ending:
            self._follow()

    def _follow(self) -> None:
        while not self._ending.asked():
            try:
                with session_for(self._target) as connection, permitted():
                    collector = collector_on(self._target, connection)
                    self._outlets.work()
                    while not self._ending.asked():
                        began = time.monotonic()
                        self._pass(collector, connection, began)
                        self._ending.wait(self._every_s - (time.monotonic() - began))
            except RagledgerError as exc:
                self._readiness.lose()
                self._outlets.rest() if isinstance(exc, CollectorBusy) else self._outlets.failed()
                if str(exc) != self._failed:
                    self._failed = str(exc)
                    typer.echo(f"ragledger collect: waiting ({self._failed})", err=True)
                self._ending.wait(min(self._every_s, 15.0))

    def _pass(self, collector: Collector, connection: Connection, began: float) -> None:
        def going_on(_: int) -> None:
            self._pace.tell(lambda: self._going_on(connection))

        self._pace.begin()
        passed = collector.run(documents=False, step=going_on, stopped=self._ending.asked)
        self._works()
        if self._documents.due(began) and not self._ending.asked():
            passed += self._count_documents(collector, going_on)
        if not self._ending.asked():
            self._outlets.passed(connection, began)
        if passed.records or passed.minutes or passed.days:
            tell(passed, as_json=self._as_json)

    def _going_on(self, connection: Connection) -> None:
        """A pass over much takes long: who waits for it hears that it works, and how much is left."""
        self._outlets.going_on(connection)
        self._works()

    def _works(self) -> None:
        self._readiness.reach()
        if self._failed:
            typer.echo("ragledger collect: at work", err=True)
        self._failed = ""

    def _count_documents(self, collector: Collector, going_on: Callable[[int], None]) -> Passed:
        """The days that could be counted. Minutes must not wait for documents that fail; a lost connection fails the next pass."""
        from ragledger_collector.collector import Passed

        counted = 0

        def step(days: int) -> None:
            nonlocal counted
            counted += days
            going_on(days)

        try:
            with permitted():
                collector.count_documents(step=step, stopped=self._ending.asked)
        except DatabaseUnavailable as exc:
            typer.echo(f"ragledger collect: documents wait ({exc})", err=True)
        return Passed(days=counted)


class Documents:
    """When to count documents: a day of them is read whole, so at most every ten minutes, whatever fails meanwhile."""

    def __init__(self, every_s: float) -> None:
        self._always = every_s >= _DOCUMENTS_EVERY_S
        self._next = -math.inf

    def due(self, now: float) -> bool:
        """Whether it is time; then the next time is ten minutes later."""
        if not self._always and now < self._next:
            return False
        self._next = now + _DOCUMENTS_EVERY_S
        return True


def collector_on(target: Target, connection: Connection) -> Collector:
    """The collector on this session; it makes more of them where there is much to do.

    Raises:
        CollectorBusy: another collector is at work.
    """
    from ragledger_collector.collector import Collector

    collector = Collector(connection, connect=lambda: session_for(target))
    collector.lock()
    return collector


@contextmanager
def permitted() -> Iterator[None]:
    """As `translated`; of rights that are missing it says what gives them.

    Raises:
        DatabaseUnavailable: the connection was lost, or a statement was refused.
    """
    with translated():
        try:
            yield
        except InsufficientPrivilege:
            raise DatabaseUnavailable(
                "this login lacks rights; as the owner: GRANT ragledger_collector TO it, and after an upgrade "
                "`ragledger init --roles` before that"
            ) from None


def tell(passed: Passed, *, as_json: bool) -> None:
    """What a pass did, in one line."""
    if as_json:
        typer.echo(msgspec.json.encode(passed).decode())
        return
    sealed = f", {passed.sealed:,} sealed and left" if passed.sealed else ""
    typer.echo(
        f"{passed.records:,} record(s) looked at, {passed.minutes:,} minute(s) and {passed.days:,} day(s) of documents "
        f"counted{sealed}"
    )
