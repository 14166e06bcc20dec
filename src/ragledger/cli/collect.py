"""`ragledger collect`: the table to rollups, once or again and again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragledger.errors import ConfigError

from .outlets import EndpointOption, OtlpOption, Outlets, PrometheusOption, outlets_of
from .passes import Passes, collector_on, permitted, tell
from .progress import progress
from .readiness import Readiness
from .session import DsnOption, JsonOption, SchemaOption, open_target, session_for

if TYPE_CHECKING:
    from ragledger.wiring import Target
    from ragledger_collector.collector import Passed

__all__ = ["collect_command", "collect_once"]

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
            help="With --every: there while passes do their work, gone while they fail and at the end. For probes."
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
            tell(collect_once(target, outlets), as_json=as_json)
        else:
            with Readiness("ragledger collect", ready_file) as readiness:
                Passes(target, every_s, outlets, readiness, as_json=as_json).follow()


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


def collect_once(target: Target, outlets: Outlets) -> Passed:
    """One pass over what is there, with a progress bar.

    Raises:
        CollectorBusy: another collector is at work.
    """
    with session_for(target) as connection:
        with permitted(), progress("collecting", "records, minutes and days") as step:
            collector = collector_on(target, connection)
            outlets.work()
            began = time.monotonic()
            passed = collector.run(step=step)
        outlets.passed(connection, began)
    return passed
