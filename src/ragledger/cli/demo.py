"""`ragledger demo`: the main job on real input, end to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ragledger.errors import ConfigError
from ragledger.measures.tables import heading, tables
from ragledger.settings import data_home

from .report_table import show
from .session import DsnOption, JsonOption, as_pretty_json

__all__ = ["demo_command"]

PROJECT = "ragledger-demo"

_NEXT = (
    ("ragledger tail{dsn}", "the latest searches, one line each"),
    ("ragledger measure{dsn} --project {project} --json", "the same numbers for a program"),
    ("ragledger measure{dsn} --surface study", "one surface only"),
    ("ragledger verify{dsn} --writers", "every record has a fate"),
    ("ragledger doctor{dsn}", "what is waiting, refused or rejected"),
)
_WHOSE_VOTES = (
    "The votes come from the judged set that ships with the demo (actor kind `judge`), cast by seeded readers who look "
    "at the top more often than at the bottom. No human voted."
)


HtmlOption = Annotated[
    Optional[Path],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option(
        "--html", help="Where to write the report. Default `demo-report.html` in the user's data directory."
    ),
]


def demo_command(
    dsn: DsnOption = "embedded",
    limit: Annotated[
        int, typer.Option("--questions", min=1, help="How many of the judged questions.")
    ] = 1000,
    html: HtmlOption = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Index the Python language reference, ask judged questions through both frameworks, vote, measure, draw.

    Example: ragledger demo     (a second run adds to the table)
    """
    report = html or data_home() / "demo-report.html"
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    steps = Steps(console)
    with steps.running():
        with steps.step("import LangChain and LlamaIndex"):
            try:
                from ragledger.demo.run import run
            except ImportError as exc:
                raise ConfigError(f"the demo needs {exc.name}: pip install 'ragledger[demo]'") from None
        outcome = run(dsn or "embedded", PROJECT, limit, report, steps)
    steps.print_total()
    if as_json:
        typer.echo(as_pretty_json(outcome))
        return
    console.print()
    show(heading(outcome), tables(outcome))
    console.print(_WHOSE_VOTES)
    console.print(f"\nThe report, to be opened in a browser: {report}")
    console.print("\nLook next:")
    # Not the dsn itself: it may hold a password.
    named = " --dsn embedded" if dsn == "embedded" else ""
    for command, words in _NEXT:
        console.print(f"  {command.format(dsn=named, project=PROJECT):66}{words}")


class Steps:
    """Says what is being done and how long each part took. A progress bar on a terminal, lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._seconds = 0.0
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._progress:
            yield

    @contextmanager
    def step(self, words: str, total: int = 1) -> Iterator[Step]:
        """One part of the work; its note is printed with its time."""
        started = time.monotonic()
        step = Step(self._progress, words, total)
        yield step
        step.end()
        self._seconds += time.monotonic() - started
        self._console.print(f"{time.monotonic() - started:6.1f} s  {words}: {step.note}")

    def print_total(self) -> None:
        self._console.print(f"{self._seconds:6.1f} s  in all")


class Step:
    """A running part."""

    def __init__(self, progress: Progress, words: str, total: int) -> None:
        self.note = "done"
        self._progress = progress
        self._task = progress.add_task(words, total=total)

    def tick(self) -> None:
        self._progress.advance(self._task)

    def end(self) -> None:
        self._progress.remove_task(self._task)
