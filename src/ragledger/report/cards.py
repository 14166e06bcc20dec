"""A panel as it stands on the page: its name and n, its picture, how to read it, and its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ragledger.measures.tables import NOT_MEASURED
from ragledger.panels.panel import Column, Panel, Reading, Step

from .bars import height_of, paint_bars
from .canvas import draw
from .lines import Axis, paint_lines
from .markup import Html, coded, joined, tag
from .numbers import n_of, shown
from .palette import variable
from .picture import Shown
from .tables import panel_table

__all__ = ["card"]

NARROW = 330
"""What a phone has room for, in pixels; above it a panel has a drawing of its own width."""

_WIDTH_OF_A_PART = 49
_FRAME = 44
_FEW_ROWS = 8
_LINES_HEIGHT = {True: 190, False: 230}


def card(panel: Shown, axis: Axis, name: str) -> Html:
    """One panel; `name` is its id on the page."""
    about = panel.panel
    content = _content(panel, axis, name) if panel.measured else tag("p", _nothing(panel), class_="nothing")
    drawn = about.kind in {"timeseries", "bars"} and panel.measured
    return tag(
        "article",
        tag("header", tag("h4", about.title), _n(panel)),
        content,
        tag(
            "footer",
            _folded("How to read this", _reading(about.reading)),
            _folded("Numbers", panel_table(about.columns, panel.rows, about.title)) if drawn else None,
        ),
        class_=f"panel w{about.width} {about.kind}",
        id_=name,
    )


def _nothing(panel: Shown) -> str:
    """No rows may be good news; rows of unknowns are not."""
    return NOT_MEASURED if panel.rows else panel.panel.empty


def _content(panel: Shown, axis: Axis, name: str) -> Html:
    about = panel.panel
    if about.kind == "table":
        return panel_table(about.columns, panel.rows, about.title)
    if about.kind == "stat":
        values = zip(about.columns, panel.rows[0], strict=True)
        return tag("dl", *(_stat(column, value, about.steps) for column, value in values), class_="stats")
    return joined(_legend(about), tag("figure", *_drawings(panel, axis, name)))


def _stat(column: Column, value: float | None, steps: tuple[Step, ...]) -> Html:
    text = shown(value, column.unit)
    colour = column.colour if value is None else _step(value, steps) or column.colour
    return tag(
        "div",
        tag("dt", column.name, title=column.meaning),
        tag("dd", text, class_="unknown" if value is None else None),
        style=f"--c:{variable(colour)}",
    )


def _step(value: float, steps: tuple[Step, ...]) -> str | None:
    reached = [step.colour for step in steps if step.start is None or value >= step.start]
    return reached[-1] if reached else None


def _drawings(panel: Shown, axis: Axis, name: str) -> Iterator[Html]:
    wide = panel.panel.width * _WIDTH_OF_A_PART - _FRAME
    sizes = [(NARROW, "narrow"), (wide, "wide")] if wide > 1.3 * NARROW else [(wide, "both")]
    for width, which in sizes:
        narrow = which != "wide"
        if panel.panel.kind == "bars":
            height = height_of(panel)
            drawing = draw(partial(paint_bars, panel=panel, width=width), width, height, f"{name}-{which}")
        else:
            paint = partial(paint_lines, shown_panel=panel, axis=axis, narrow=narrow)
            drawing = draw(paint, width, _LINES_HEIGHT[narrow], f"{name}-{which}")
        yield tag(
            "div",
            drawing,
            class_=f"drawing {which}",
            role="img",
            aria_label=f"{panel.panel.title}. {panel.panel.reading.shows}",
        )


def _legend(panel: Panel) -> Html | None:
    entries = [column for column in panel.columns[1:] if column.colour is not None and column.style != "edge"]
    if panel.kind == "bars" and len(entries) < 2:
        return None
    return tag(
        "ul",
        *(
            tag(
                "li",
                tag("i", class_=column.style, style=f"--c:{variable(column.colour)}", aria_hidden="true"),
                "95% interval" if column.style == "band" else column.name,
                title=column.meaning,
            )
            for column in entries
        ),
        class_="legend",
    )


def _n(panel: Shown) -> Html | None:
    """How many the picture rests on, where it does not say so itself."""
    about = panel.panel
    if not panel.measured or about.kind == "stat":
        return None
    if about.kind == "table":
        return tag("p", f"{len(panel.rows):,} rows", class_="n") if len(panel.rows) > _FEW_ROWS else None
    counts = [column for column in about.columns if column.unit == "count"]
    behind = [column for column in counts if column.style == "support"]
    parts = [column for column in counts if about.kind == "bars" or column.style == "stacked"]
    if not behind and (not parts or len(parts) != len(counts)):
        return None
    total = sum(value or 0 for column in behind or parts for value in panel.values(column.name))
    named = [column for column in behind if column.name != "n"]
    words = f"{named[0].name}: {total:,.0f}" if named else n_of(total)
    return tag("p", words, class_="n", title=behind[0].meaning if behind else None)


def _reading(reading: Reading) -> Html:
    return joined(
        tag("p", coded(reading.shows)),
        tag("p", tag("b", "Good: "), coded(reading.good)),
        tag("p", tag("b", "Bad: "), coded(reading.bad)),
        tag("p", tag("b", "Do: "), coded(reading.do)),
    )


def _folded(words: str, content: Html) -> Html:
    return tag("details", tag("summary", words), content)
