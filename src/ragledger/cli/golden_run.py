"""What `ragledger golden run` and `ragledger gate` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ragledger.measures.golden_set import GoldenSet

from .progress import progress
from .session import needing

__all__ = ["GoldenArgument", "NoRecordOption", "RetrieverOption", "asking", "needs_analysis"]

GoldenArgument = Annotated[Path, typer.Argument(help="The file that `ragledger golden build` wrote.")]
RetrieverOption = Annotated[
    str,
    typer.Option(
        "--retriever",
        help="`module:attribute`, looked for here first: a LangChain or LlamaIndex retriever, or a callable that gives ids "
        "or (id, score) pairs. With `()` at its end it is called first.",
    ),
]
NoRecordOption = Annotated[
    bool,
    typer.Option(
        "--no-record",
        help="Keep the searches out of the table. Without it they are there if the retriever is observed, of surface "
        "`golden` and actor `system:golden`.",
    ),
]


def needs_analysis(what: str) -> None:
    """Raises ConfigError where the library that measures is not installed."""
    with needing("analysis", what):
        import ir_measures  # noqa: F401


@contextmanager
def asking(golden: GoldenSet) -> Iterator[Callable[[int], None]]:
    """A progress bar over the questions."""
    with progress("ask", f"of {len(golden.questions):,} questions") as tick:
        yield tick
