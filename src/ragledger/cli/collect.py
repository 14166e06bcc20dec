"""`ragledger collect`: the table to rollups, once or again and again."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ragledger.errors import ConfigError, RagledgerError
from ragledger.postgres.connection import translated

from .progress import progress
from .session import DsnOption, JsonOption, SchemaOption, open_target

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection
    from ragledger.wiring import Target
    from ragledger_collector.collector import Collector, Passed

__all__ = ["collect_command"]

_DOCUMENTS_EVERY = 40
"""Documents are counted by the day; while the loop runs, in one pass of so many."""


def collect_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    once: Annotated[bool, typer.Option("--once", help="One pass over what is there, then leave.")] = False,  # noqa: FBT002
    every: Annotated[
        str | None, typer.Option("--every", help="Pass after pass, such as `15s`, until SIGTERM or Ctrl-C.")
    ] = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Make rollups from the table. One collector works at a time; another one waits to take over (--every) or leaves with 2.

    Example: ragledger collect --every 15s
    """
    if once == (every is not None):
        raise ConfigError("say how: --once, or --every 15s")
    with open_target(dsn, schema) as target:
        if every is None:
            _tell(_once(target), as_json=as_json)
        else:
            _follow(target, seconds(every), as_json=as_json)


def seconds(text: str) -> float:
    """`15s`, `2m` or `15`.

    Raises:
        ConfigError: it is none of them, or nothing.
    """
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    try:
        found = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ConfigError(f"--every {text!r} is no time; say 15s, 2m or 1h")
    return found


def _connect(target: Target) -> Connection:
    return target.connect(role="ragledger_collector", statement_timeout_s=600.0)


def _collector(connection: Connection) -> Collector:
    from ragledger_collector.collector import Collector

    collector = Collector(connection)
    collector.lock()
    return collector


def _once(target: Target) -> Passed:
    with (
        _connect(target) as connection,
        translated(),
        progress("collecting", "records, minutes and days") as step,
    ):
        return _collector(connection).run(step=step)


def _follow(target: Target, every_s: float, *, as_json: bool) -> None:
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    failed = ""
    while not done.is_set():
        try:
            with _connect(target) as connection, translated():
                collector, passes = _collector(connection), 0
                if failed:
                    typer.echo("ragledger collect: at work", err=True)
                failed = ""
                while not done.is_set():
                    began = time.monotonic()
                    passed = collector.run(documents=passes % _DOCUMENTS_EVERY == 0)
                    passes += 1
                    if passed.records or passed.minutes:
                        _tell(passed, as_json=as_json)
                    done.wait(max(0.0, every_s - (time.monotonic() - began)))
        except RagledgerError as exc:
            if str(exc) != failed:
                failed = str(exc)
                typer.echo(f"ragledger collect: waiting ({failed})", err=True)
            done.wait(min(every_s, 15.0))


def _tell(passed: Passed, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(passed).decode())
        return
    sealed = f", {passed.sealed:,} sealed and left" if passed.sealed else ""
    typer.echo(
        f"{passed.records:,} record(s) looked at, {passed.minutes:,} minute(s) and {passed.days:,} day(s) of documents "
        f"counted{sealed}"
    )
