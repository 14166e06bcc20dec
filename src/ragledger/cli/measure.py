"""`ragledger measure`: what the table says about a window.

Exit code 1 means one thing only: vector search was unavailable over the whole window, so that what was measured is
the lexical half of the product. The report is printed all the same.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from ragledger.measurement import STEPS, Measurement, Window, measure
from ragledger.measures.report import VectorCounts
from ragledger.measures.tables import heading, tables

from .progress import progress
from .report_table import markdown, show
from .session import DsnOption, JsonOption, SchemaOption, as_pretty_json, connected, open_target, session_for
from .windows import (
    CorpusOption,
    ProjectOption,
    SinceOption,
    SurfaceOption,
    UntilOption,
    UsefulFrom,
    UsefulOption,
    window_of,
)

__all__ = ["measure_command", "verdict"]

_LEXICAL_HALF = (
    "vector search was unavailable in every search of this window that tells ({n}): "
    "what was measured is the lexical half only"
)

MarkdownOption = Annotated[bool, typer.Option("--markdown", help="GitHub Markdown instead of text.")]


def measure_command(  # noqa: PLR0913  one parameter per option of the command line
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    since: SinceOption = "7d",
    until: UntilOption = None,
    useful_from: UsefulOption = UsefulFrom.relevant,
    as_json: JsonOption = False,  # noqa: FBT002
    as_markdown: MarkdownOption = False,  # noqa: FBT002
) -> None:
    """Measure the searches of a window: what ran, what failed, what was found, what was useful, and how sure that is.

    Precision has an interval that holds the true value 95 times in 100, votes of people, agents and judges stay apart, and a
    diagnosis says whether order, weights or index are at fault. docs/measure.md explains every number.

    Exit code 1 when vector search was unavailable over the whole window, 2 when there is nothing to measure.

    Example: ragledger measure --project shop --surface study --since 30d
    """
    if as_json and as_markdown:
        raise typer.BadParameter("give --json or --markdown, not both")
    window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
    measurement = _measured(dsn, schema, window, useful_from)
    if as_json:
        typer.echo(as_pretty_json(measurement))
    elif as_markdown:
        typer.echo(markdown(heading(measurement), tables(measurement)), nl=False)
    else:
        show(heading(measurement), tables(measurement))
    code, reason = verdict(measurement.vector)
    if reason is not None:
        typer.echo(f"ragledger: {reason}", err=True)
    raise typer.Exit(code)


def _measured(dsn: str | None, schema: str | None, window: Window, useful_from: UsefulFrom) -> Measurement:
    with (
        open_target(dsn, schema) as target,
        connected(target) as connection,
        progress("measuring", f"of {STEPS} steps") as step,
    ):
        another = partial(session_for, target)
        return measure(connection, window, useful_from=useful_from.value, step=step, connect=another)


def verdict(vector: VectorCounts) -> tuple[int, str | None]:
    """The exit code and what to say of it: 1 when some searches tell of their vector signal and none had it."""
    if vector.unavailable and not vector.available:
        return 1, _LEXICAL_HALF.format(n=vector.unavailable)
    return 0, None
