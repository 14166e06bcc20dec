"""A progress bar for what may take longer; none where nobody looks at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["progress"]


@contextmanager
def progress(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Calls with the size of each step move it; it goes to stderr and vanishes at the end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description} {task.completed:,.0f} " + unit),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)
