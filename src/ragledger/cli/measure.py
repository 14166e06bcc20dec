"""`ragledger measure`: what the table says about a window.

Exit code 1 means one thing only: vector search was unavailable over the whole window, so that what was measured is
the lexical half of the product. The report is printed all the same.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Annotated, Optional

import msgspec
import typer

from ragledger.measurement import Window, measure
from ragledger.measures.report import VectorCounts
from ragledger.measures.tables import heading, tables

from .report_table import markdown, show
from .session import DsnOption, JsonOption, SchemaOption, open_connection

__all__ = ["measure_command", "moment", "verdict"]

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LEXICAL_HALF = (
    "vector search was unavailable in every search of this window that tells ({n}): "
    "what was measured is the lexical half only"
)

ProjectOption = Annotated[
    Optional[str],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option("--project", help="Only searches of this project. Default all."),
]
SurfaceOption = Annotated[Optional[str], typer.Option("--surface", help="Only searches of this surface.")]  # noqa: UP045
CorpusOption = Annotated[Optional[str], typer.Option("--corpus", help="Only searches of this corpus.")]  # noqa: UP045
SinceOption = Annotated[
    str,
    typer.Option("--since", help="From when: `7d`, `24h`, a date or time (UTC unless it says), or `all`."),
]
UntilOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--until", help="Up to when (exclusive), in the same forms. Default now."),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="GitHub Markdown instead of text.")]


class UsefulFrom(str, Enum):
    """The lowest outcome that makes a hit useful."""

    partially_relevant = "partially_relevant"
    relevant = "relevant"
    highly_relevant = "highly_relevant"


UsefulOption = Annotated[
    UsefulFrom, typer.Option("--useful-from", help="The lowest outcome that makes a hit useful.")
]


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
    """Measure the searches of a window: what ran, what failed, what was found, and what was useful.

    Exit code 1 when vector search was unavailable over the whole window, 2 when there is nothing to measure.

    Example: ragledger measure --project shop --surface study --since 30d
    """
    if as_json and as_markdown:
        raise typer.BadParameter("give --json or --markdown, not both")
    window = _window(project=project, surface=surface, corpus=corpus, since=since, until=until)
    with open_connection(dsn, schema) as connection:
        measurement = measure(connection, window, useful_from=useful_from.value)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(measurement), indent=2).decode())
    elif as_markdown:
        typer.echo(markdown(heading(measurement), tables(measurement)), nl=False)
    else:
        show(heading(measurement), tables(measurement))
    code, reason = verdict(measurement.vector)
    if reason is not None:
        typer.echo(f"ragledger: {reason}", err=True)
    raise typer.Exit(code)


def verdict(vector: VectorCounts) -> tuple[int, str | None]:
    """The exit code and what to say of it: 1 when some searches tell of their vector signal and none had it."""
    if vector.unavailable and not vector.available:
        return 1, _LEXICAL_HALF.format(n=vector.unavailable)
    return 0, None


def moment(text: str, now: datetime) -> datetime | None:
    """A bound of the window; None for `all`, which is no bound.

    Raises:
        ValueError: neither `all`, nor an age such as `7d`, nor an ISO date or time.
    """
    if text == "all":
        return None
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    given = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    return given if given.tzinfo else given.replace(tzinfo=timezone.utc)


def _window(
    *, project: str | None, surface: str | None, corpus: str | None, since: str, until: str | None
) -> Window:
    now = datetime.now(timezone.utc)
    bounds: dict[str, datetime | None] = {}
    for name, text in (("since", since), ("until", until)):
        try:
            bounds[name] = moment(text, now) if text is not None else None
        except (ValueError, OverflowError):
            raise typer.BadParameter(
                f"--{name} takes `7d`, `24h`, `2026-03-01`, `2026-03-01T12:00Z` or `all`, not {text!r}"
            ) from None
    try:
        return Window(project=project, surface=surface, corpus=corpus, **bounds)
    except ValueError as exc:
        raise typer.BadParameter(f"--since and --until: {exc}") from None
