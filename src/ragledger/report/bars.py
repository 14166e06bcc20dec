"""Draws bars: lying down with room for words, or upright when all labels are as short as ranks are."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .canvas import within
from .markup import plain
from .numbers import shown
from .palette import GRID, INK, QUIET, hex_of
from .picture import Shown
from .shapes import boxes, frame

__all__ = ["height_of", "paint_bars"]

_SHORT = 3
_MANY = 6
_LABEL, _BAR, _GAP = 19, 9, 12
_UPRIGHT = 240


def height_of(panel: Shown) -> int:
    """How much room the bars take, in pixels."""
    if _upright(panel):
        return _UPRIGHT
    return len(panel.rows) * (_LABEL + _lines(panel) + _GAP) + 2


def paint_bars(figure: Figure, panel: Shown, *, width: int) -> None:
    """Onto the whole figure, `width` pixels wide."""
    if _upright(panel):
        _paint_upright(figure, panel)
    else:
        _paint_lying(figure, panel, width)


def _upright(panel: Shown) -> bool:
    labels = [str(row[0]) for row in panel.rows]
    return len(labels) > _MANY and sum(len(label) <= _SHORT for label in labels) >= len(labels) - 1


def _lines(panel: Shown) -> int:
    bars = len(panel.panel.columns) - 1
    return bars * (_BAR + (_LABEL - 4 if bars > 1 else 0))


def _top(panel: Shown) -> float:
    known = [value for row in panel.rows for value in row[1:] if value is not None]
    return panel.panel.largest or max([*known, 0.0]) or 1.0


def _paint_lying(figure: Figure, panel: Shown, width: int) -> None:
    """The label above its bar, the number at the end of the same line: no label is ever in the way of a bar."""
    height = height_of(panel)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    top, y = _top(panel), 0.0
    several = len(panel.panel.columns) > 2
    for row in panel.rows:
        label = within(plain(str(row[0])), width // 8)
        axes.text(0, y + 13, label, color=INK, ha="left", va="baseline")
        y += _LABEL
        for column, value in zip(panel.panel.columns[1:], row[1:], strict=True):
            if several:
                axes.text(0, y + 11, column.name, ha="left", va="baseline", fontsize=10)
            at = y + (11 if several else -6)
            axes.text(width, at, shown(value, column.unit), color=INK, ha="right", va="baseline")
            y += _LABEL - 4 if several else 0
            boxes(axes, [(0, y, width, _BAR - 2)], GRID, alpha=0.55)
            boxes(axes, [(0, y, _length(value, top, width), _BAR - 2)], hex_of(column.colour))
            y += _BAR
        y += _GAP


def _length(value: Any, top: float, width: int) -> float:
    return 0.0 if not value else max(2.0, min(1.0, value / top) * width)


def _paint_upright(figure: Figure, panel: Shown) -> None:
    axes = figure.add_subplot()
    columns = panel.panel.columns[1:]
    each = 0.8 / len(columns)
    for number, column in enumerate(columns):
        heights = enumerate(row[number + 1] or 0.0 for row in panel.rows)
        boxes(
            axes,
            ((place - 0.4 + number * each, 0.0, each, height) for place, height in heights),
            hex_of(column.colour),
        )
    axes.set_ylim(0, _top(panel) * (1.0 if panel.panel.largest else 1.05))
    axes.set_xlim(-0.6, len(panel.rows) - 0.4)
    axes.set_xticks(range(len(panel.rows)), [_rank(str(row[0])) for row in panel.rows], color=QUIET)
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    share = columns[0].unit == "share"
    labels = FuncFormatter(lambda value, _: f"{100 * value:g}%" if share else f"{value:,g}")
    axes.yaxis.set_major_formatter(labels)
    frame(figure, [labels(value) for value in axes.get_yticks()])


def _rank(label: str) -> str:
    """`beyond 20` has no room beside `20`."""
    return (
        f">{label.removeprefix('beyond ')}"
        if label.startswith("beyond ")
        else within(plain(label), _SHORT + 2)
    )
