"""What the rollups count of documents beyond a day of each: in total, and per corpus. Plain Python, as `rollup.py`."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from .rollup import Cells, Key, add

__all__ = ["add_totals", "corpora_of", "corpus_days_of"]

_SUMS = ("retrieved", "admitted", "accessed", "judged", "useful", "not_useful", "best_rank")
_FUNNEL = ("retrieved", "admitted", "accessed", "judged", "useful")


def corpus_days_of(cells: Cells) -> Cells:
    """How many documents of each corpus were retrieved on a day, and so on, from the cells of these documents and days."""
    found: Cells = {}
    for (grain, project, day, corpus, _), cell in _those_of("rollup_document_days", cells):
        add(found.setdefault(("rollup_corpus_days", grain, project, day, corpus), {}), _in_use(cell))
    return found


def add_totals(totals: Cells, cells: Cells) -> None:
    """Adds the cells of documents and days to those of documents."""
    for (_, project, day, *document), cell in _those_of("rollup_document_days", cells):
        total = totals.setdefault(("rollup_documents", project, *document), {})
        add(total, {name: cell[name] for name in _SUMS} | {"first_day": day})


def corpora_of(totals: Cells, listed: Container[tuple[str, str]]) -> Cells:
    """By the day that they were first retrieved, how many documents of a corpus are listed, and were ever admitted and so on."""
    found: Cells = {}
    for (project, *document), cell in _those_of("rollup_documents", totals):
        key = ("rollup_corpora", project, document[0], cell["first_day"])
        add(found.setdefault(key, {}), {**_in_use(cell), "listed": int(tuple(document) in listed)})
    return found


def _those_of(table: str, cells: Cells) -> Iterator[tuple[Key, dict[str, Any]]]:
    for key, cell in cells.items():
        if key[0] == table:
            yield key[1:], cell


def _in_use(cell: dict[str, Any]) -> dict[str, int]:
    return {name: int(cell[name] > 0) for name in _FUNNEL}
