"""`ragledger collect`: the table to rollups, once or again and again."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from psycopg.errors import InsufficientPrivilege

from ragledger.errors import CollectorBusy, ConfigError, DatabaseUnavailable, RagledgerError
from ragledger.postgres.connection import translated

from .outlets import EndpointOption, OtlpOption, Outlets, PrometheusOption, outlets_of
from .progress import progress
from .readiness import Readiness
from .session import DsnOption, JsonOption, SchemaOption, open_target

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection
    from ragledger.wiring import Target
    from ragledger_collector.collector import Collector, Passed

__all__ = ["collect_command", "collect_once", "permitted"]

_DOCUMENTS_EVERY_S = 600.0
_LONGEST_S = 86_400.0


def collect_command(  # noqa: PLR0913  one parameter per option of the command line
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    once: Annotated[bool, typer.Option("--once", help="One pass over what is there, then leave.")] = False,  # noqa: FBT002
    every: Annotated[
        str | None, typer.Option("--every", help="Pass after pass, such as `15s`, until SIGTERM or Ctrl-C.")
    ] = None,
    otlp: OtlpOption = False,  # noqa: FBT002
    endpoint: EndpointOption = None,
    prometheus: PrometheusOption = None,
    ready_file: Annotated[
        Path | None,
        typer.Option(
            help="With --every: there after a pass, and gone while passes fail and at the end. For probes."
        ),
    ] = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Make rollups from the table. One collector works at a time; another one waits to take over (--every) or leaves with 2.

    Example: ragledger collect --every 15s --prometheus 9464
    """
    if once == (every is not None):
        raise ConfigError("say how: --once, or --every 15s")
    if prometheus is not None and every is None:
        raise ConfigError("--prometheus needs --every: with --once nobody is there to answer a scrape")
    every_s = seconds(every) if every is not None else None
    with (
        open_target(dsn, schema) as target,
        outlets_of(otlp=otlp, endpoint=endpoint, prometheus=prometheus, every_s=every_s) as outlets,
    ):
        if every_s is None:
            _tell(collect_once(target, outlets), as_json=as_json)
        else:
            with Readiness("ragledger collect", ready_file) as readiness:
                _follow(target, every_s, outlets, readiness, as_json=as_json)


def seconds(text: str) -> float:
    """`15s`, `2m` or `15`.

    Raises:
        ConfigError: it is none of them, nothing, or more than a day.
    """
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    try:
        found = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ConfigError(f"--every {text!r} is no time; say 15s, 2m or 1h")
    if found > _LONGEST_S:
        raise ConfigError(f"--every {text!r} is more than a day; for that, run --once from cron")
    return found


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


def _connect(target: Target) -> Connection:
    return target.connect(role="ragledger_collector", statement_timeout_s=600.0)


def _collector(connection: Connection) -> Collector:
    from ragledger_collector.collector import Collector

    collector = Collector(connection)
    collector.lock()
    return collector


def collect_once(target: Target, outlets: Outlets) -> Passed:
    """One pass over what is there, with a progress bar.

    Raises:
        CollectorBusy: another collector is at work.
    """
    with _connect(target) as connection:
        with permitted(), progress("collecting", "records, minutes and days") as step:
            collector = _collector(connection)
            outlets.work()
            began = time.monotonic()
            passed = collector.run(step=step)
        outlets.passed(connection, began)
    return passed


def _follow(target: Target, every_s: float, outlets: Outlets, readiness: Readiness, *, as_json: bool) -> None:
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    documents, failed = Documents(every_s), ""
    while not done.is_set():
        try:
            with _connect(target) as connection, permitted():
                collector = _collector(connection)
                outlets.work()
                while not done.is_set():
                    began = time.monotonic()
                    passed = collector.run(documents=False, stopped=done.is_set)
                    readiness.reach()
                    if failed:
                        typer.echo("ragledger collect: at work", err=True)
                    failed = ""
                    if documents.due(began) and not done.is_set():
                        passed += _documents(collector, done)
                    if not done.is_set():
                        outlets.passed(connection, began)
                    if passed.records or passed.minutes or passed.days:
                        _tell(passed, as_json=as_json)
                    done.wait(max(0.0, every_s - (time.monotonic() - began)))
        except RagledgerError as exc:
            readiness.lose()
            outlets.rest() if isinstance(exc, CollectorBusy) else outlets.failed()
            if str(exc) != failed:
                failed = str(exc)
                typer.echo(f"ragledger collect: waiting ({failed})", err=True)
            done.wait(min(every_s, 15.0))


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


def _documents(collector: Collector, done: threading.Event) -> Passed:
    """The days that could be counted. Minutes must not wait for documents that fail; a lost connection fails the next pass."""
    from ragledger_collector.collector import Passed

    counted: list[int] = []
    try:
        with permitted():
            collector.count_documents(step=counted.append, stopped=done.is_set)
    except DatabaseUnavailable as exc:
        typer.echo(f"ragledger collect: documents wait ({exc})", err=True)
    return Passed(days=sum(counted))


def _tell(passed: Passed, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(passed).decode())
        return
    sealed = f", {passed.sealed:,} sealed and left" if passed.sealed else ""
    typer.echo(
        f"{passed.records:,} record(s) looked at, {passed.minutes:,} minute(s) and {passed.days:,} day(s) of documents "
        f"counted{sealed}"
    )
