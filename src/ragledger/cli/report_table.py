"""Shows tables of text: on a terminal, in a pipe, as GitHub Markdown. Knows nothing of what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ragledger.measures.tables import Table

__all__ = ["markdown", "show"]

_PIPED = 110
"""Columns where nobody says how wide the output is: what the widest tables need."""


def show(
    heading: Sequence[str], tables: Iterable[Table], file: IO[str] | None = None, width: int | None = None
) -> None:
    """Prints the tables; styled only where `file` (standard output) is a terminal."""
    console = Console(file=file, width=width, highlight=False)
    if width is None and not console.is_terminal:
        console.width = max(console.width, _PIPED)
    for line in heading:
        console.print(Text(_plain(line)))
    for table in tables:
        console.print()
        console.print(Text(_plain(table.title), style="bold"))
        if table.means:
            console.print(Text(_plain(table.means)))
        console.print(_rich(table), crop=False)
        console.print(Text(_plain(table.caption), style="dim"))


def markdown(heading: Sequence[str], tables: Iterable[Table]) -> str:
    """The same as GitHub Markdown, one table per heading."""
    blocks = ["\n".join(f"- {_cell(line)}" for line in heading)]
    for table in tables:
        lines = [
            _row(table.columns),
            _row(["---"] * table.words + ["---:"] * (len(table.columns) - table.words)),
        ]
        lines += [_row([_cell(cell) for cell in row]) for row in table.rows]
        blocks += [f"### {_cell(table.title)}", *([_cell(table.means)] if table.means else [])]
        blocks += ["\n".join(lines), _cell(table.caption)]
    return "\n\n".join(blocks) + "\n"


def _rich(table: Table) -> RichTable:
    shown = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(table.columns):
        words = number < table.words
        whole = None if words else _longest_word([name, *(row[number] for row in table.rows)])
        shown.add_column(Text(name), justify="left" if words else "right", overflow="fold", min_width=whole)
    for row in table.rows:
        shown.add_row(*(Text(_plain(cell)) for cell in row))
    return shown


def _longest_word(cells: Sequence[str]) -> int:
    """A number is never broken, only the line between two of them."""
    return max((cell_len(word) for cell in cells for word in _plain(cell).split()), default=0)


def _plain(text: str) -> str:
    """Names come from the application: none of them may steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    escaped = _plain(text)
    for mark in "\\`*[]<>|":
        escaped = escaped.replace(mark, f"\\{mark}")
    return escaped.strip().replace("\n", "<br>")
