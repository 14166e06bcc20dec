"""Which searches a command is about: the options with one meaning everywhere, and the window they name."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Annotated, Optional

import typer

from ragledger.measures.report import Window

__all__ = [
    "ActorKinds",
    "CorpusOption",
    "ProjectOption",
    "SinceOption",
    "SurfaceOption",
    "Units",
    "UntilOption",
    "UsefulFrom",
    "UsefulOption",
    "moment",
    "window_of",
]

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

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


class ActorKinds(str, Enum):
    """Who asked, or who voted: kinds are never pooled."""

    human = "human"
    agent = "agent"
    judge = "judge"
    system = "system"


class Units(str, Enum):
    """What is judged or curated."""

    chunk = "chunk"
    document = "document"


class UsefulFrom(str, Enum):
    """The lowest outcome that makes a hit useful."""

    partially_relevant = "partially_relevant"
    relevant = "relevant"
    highly_relevant = "highly_relevant"


UsefulOption = Annotated[
    UsefulFrom, typer.Option("--useful-from", help="The lowest outcome that makes a hit useful.")
]


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


def window_of(
    *, project: str | None, surface: str | None, corpus: str | None, since: str, until: str | None
) -> Window:
    """The window that the options name.

    Raises:
        typer.BadParameter: a bound that cannot be read, or a window that ends before it begins.
    """
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
