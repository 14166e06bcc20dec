"""Rows as an HTML table: numbers under each other, an interval as one cell, each row a card of its own on a phone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ragledger.measures.tables import Table
from ragledger.panels.panel import NOT_MEASURED, Column

from .markup import Html, joined, tag
from .numbers import NOT_KNOWN, shown
from .palette import variable

__all__ = ["INTERVAL", "interval", "panel_table", "word_table"]

INTERVAL = "95% interval"


class _Field(Struct, frozen=True):
    """A column of the table: of one column of the panel, or of the two ends of an interval."""

    name: str
    meaning: str
    places: tuple[int, ...]
    column: Column


def panel_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]], label: str) -> Html:
    """The rows of a panel; `label` is what the table is of."""
    fields = tuple(_fields(columns))
    head = [
        tag("th", field.name, scope="col", title=field.meaning, class_=_side(field.column))
        for field in fields
    ]
    body = [
        tag("tr", *(_cell(field, row, first=not number) for number, field in enumerate(fields)))
        for row in rows
    ]
    return _scrolled(tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body)), label)


def word_table(table: Table) -> Html:
    """A table of `ragledger measure`."""
    sides = ["" if number < table.words else "num" for number in range(len(table.columns))]
    head = [
        tag("th", name, scope="col", class_=side) for name, side in zip(table.columns, sides, strict=True)
    ]
    body = [
        tag(
            "tr",
            *(
                tag("td", *_lines(cell), class_=side, data_label=name)
                for cell, side, name in zip(row, sides, table.columns, strict=True)
            ),
        )
        for row in table.rows
    ]
    shown_table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag(
        "section",
        tag("h4", table.title),
        _scrolled(shown_table, table.title),
        tag("p", table.caption, class_="caption"),
    )


def interval(low: float | None, high: float | None) -> str:
    """Its two ends."""
    return NOT_MEASURED if low is None or high is None else f"{100 * low:.1f} to {high:.1%}"


def _fields(columns: Sequence[Column]) -> Iterator[_Field]:
    names = [column.name for column in columns]
    for place, column in enumerate(columns):
        if column.colour == "interval" and column.name == "high":
            continue
        if column.colour == "interval" and names[place : place + 2] == ["low", "high"]:
            meaning = "where the true value lies, in 95 of 100 such samples"
            yield _Field(INTERVAL, meaning, (place, place + 1), column)
        else:
            yield _Field(column.name, column.meaning, (place,), column)


def _cell(field: _Field, row: Sequence[Any], *, first: bool) -> Html:
    values = [row[place] for place in field.places]
    text = interval(values[0], values[1]) if len(values) == 2 else shown(values[0], field.column.unit)
    classes = " ".join(
        filter(None, (_side(field.column), "unknown" if text in {NOT_MEASURED, NOT_KNOWN} else ""))
    )
    meter = None
    if field.column.unit == "share" and len(values) == 1 and values[0] is not None:
        width = f"{100 * min(1.0, max(0.0, values[0])):.1f}%"
        meter = tag(
            "i", class_="meter", style=f"--w:{width};--c:{variable(field.column.colour)}", aria_hidden="true"
        )
    name = "th" if first and field.column.unit == "text" else "td"
    scope = "row" if name == "th" else None
    return tag(name, text, meter, class_=classes or None, scope=scope, data_label=field.name)


def _side(column: Column) -> str | None:
    return None if column.unit == "text" else "time" if column.unit == "time" else "num"


def _lines(cell: str) -> list[Html | str]:
    lines: list[Html | str] = []
    for line in cell.split("\n"):
        lines += [tag("br"), line] if lines else [line]
    return lines


def _scrolled(table: Html, label: str) -> Html:
    """A wide table scrolls by itself, also by keyboard; the page never does."""
    return tag(
        "div", joined(table), class_="scroll", tabindex="0", role="region", aria_label=f"{label}, table"
    )
