"""Draws a time series: lines, stacked bars, the band of an interval, and pale bars for the n behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ragledger.panels.macros import TimeRange
from ragledger.panels.panel import Column, Unit

from .numbers import shown
from .palette import QUIET, hex_of
from .picture import Change, Shown
from .shapes import Box, boxes, frame

__all__ = ["Axis", "paint_lines"]

_LENGTHS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_FEW = 45
_HEADROOM = 1.08
_SUPPORT_SHARE = 4.0
_AIR = 0.07
_UNKNOWN = math.nan


class Axis:
    """What all time series of a page share: its range, its buckets, what changed meanwhile."""

    def __init__(self, time_range: TimeRange, grain: str, changes: Sequence[Change]) -> None:
        self.length = _LENGTHS[grain]
        self.start = _floor(time_range.start, grain)
        self.end = max(time_range.end, self.start + self.length)
        self.changes = tuple(changes)

    def middles(self, starts: Sequence[datetime]) -> list[datetime]:
        """Where the points of these buckets are drawn."""
        return [start + self.length / 2 for start in starts]


def paint_lines(figure: Figure, shown_panel: Shown, axis: Axis, *, narrow: bool) -> None:
    """Onto the whole figure."""
    panel = shown_panel.panel
    axes = figure.add_subplot()
    times = [at.astimezone(timezone.utc) for at in shown_panel.values("time")]
    columns = [column for column in panel.columns if column.unit != "time"]
    unit: Unit = next(column.unit for column in columns if column.style != "support")
    _frame(axes, axis, unit, narrow=narrow)
    highest = max(_stack(axes, axis, times, shown_panel), _curves(axes, axis, times, shown_panel))
    axes.set_ylim(0, panel.largest or (highest * _HEADROOM if highest > 0 else 1))
    beside = [
        _support(axes, axis, times, shown_panel.values(column.name), column)
        for column in columns
        if column.style == "support"
    ]
    _changes(axes, axis, narrow=narrow)
    frame(figure, [_tick(value, unit) for value in axes.get_yticks()], list(filter(None, beside)))


def _frame(axes: Axes, axis: Axis, unit: Unit, *, narrow: bool) -> None:
    axes.set_xlim(axis.start, axis.end)  # type: ignore[arg-type]
    locator = dates.AutoDateLocator(minticks=2, maxticks=4 if narrow else 7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(
        dates.ConciseDateFormatter(  # type: ignore[no-untyped-call]
            locator,
            formats=["%Y", "%b", "%-d %b", "%H:%M", "%H:%M", "%S"],
            zero_formats=["", "%Y", "%b", "%-d %b", "%H:%M", "%H:%M"],
            show_offset=False,
        )
    )
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=unit == "count", steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value, unit)))


def _tick(value: float, unit: Unit) -> str:
    if unit == "share":
        return f"{100 * value:g}%"
    if unit == "ms" and value < 1:
        return f"{value:g} ms"
    if unit in {"score", "number"}:
        return f"{value:,g}" if value < 10_000 else f"{value:,.0f}"
    return shown(value, unit).replace(".0 ms", " ms")


def _stack(axes: Axes, axis: Axis, times: Sequence[datetime], panel: Shown) -> float:
    below = [0.0] * len(times)
    for column in panel.panel.columns:
        if column.style == "stacked" and column.unit != "time":
            values = [float(value or 0) for value in panel.values(column.name)]
            stacked = zip(times, below, values, strict=True)
            boxes(
                axes, (_box(at, axis, low, high) for at, low, high in stacked if high), hex_of(column.colour)
            )
            below = [one + more for one, more in zip(below, values, strict=True)]
    return max(below, default=0.0)


def _curves(axes: Axes, axis: Axis, times: Sequence[datetime], panel: Shown) -> float:
    highest, edge = 0.0, None
    xs = axis.middles(times)
    for column in panel.panel.columns:
        if column.unit == "time" or column.style in {"stacked", "support"}:
            continue
        ys = [_UNKNOWN if value is None else float(value) for value in panel.values(column.name)]
        highest = max([highest, *(y for y in ys if not math.isnan(y))])
        if column.style == "edge":
            edge = ys
        elif column.style == "band" and edge is not None:
            _band(axes, xs, edge, ys, hex_of(column.colour))
        else:
            _line(axes, xs, ys, hex_of(column.colour))
    return highest


def _line(axes: Axes, xs: Sequence[datetime], ys: Sequence[float], colour: str) -> None:
    axes.plot(xs, ys, color=colour, linewidth=2, zorder=3)  # type: ignore[arg-type]
    few = [place for place, _ in enumerate(ys) if len(ys) <= _FEW]
    for size, places in ((3.5, few), (6, _alone(ys))):
        axes.plot(
            [xs[place] for place in places],  # type: ignore[arg-type]
            [ys[place] for place in places],
            color=colour,
            linestyle="none",
            marker="o",
            markersize=size,
            markeredgewidth=0,
            zorder=3,
        )


def _band(
    axes: Axes, xs: Sequence[datetime], low: Sequence[float], high: Sequence[float], colour: str
) -> None:
    axes.fill_between(xs, low, high, color=colour, alpha=0.22, linewidth=0)  # type: ignore[arg-type]
    for place in _alone(high):
        axes.vlines(xs[place], low[place], high[place], color=colour, alpha=0.4, linewidth=4)  # type: ignore[arg-type]


def _alone(ys: Sequence[float]) -> list[int]:
    """Points without a neighbour: no line shows them."""

    def unknown(place: int) -> bool:
        return not 0 <= place < len(ys) or math.isnan(ys[place])

    return [
        place for place in range(len(ys)) if unknown(place - 1) and unknown(place + 1) and not unknown(place)
    ]


def _support(
    axes: Axes, axis: Axis, times: Sequence[datetime], values: Sequence[Any], column: Column
) -> str | None:
    """Pale bars at the foot, on a scale of their own whose top is named; the name is given back."""
    known = [float(value or 0) for value in values]
    most = max(known, default=0.0)
    if most <= 0:
        return None
    label = f"n {most:,.0f}"
    beside = axes.twinx()
    axes.set_zorder(beside.get_zorder() + 1)
    boxes(
        beside,
        (_box(at, axis, 0.0, n) for at, n in zip(times, known, strict=True) if n),
        hex_of(column.colour),
        alpha=0.25,
    )
    beside.set_ylim(0, most * _SUPPORT_SHARE)
    beside.set_yticks([most], [label])
    beside.grid(visible=False)
    return label


def _box(at: datetime, axis: Axis, bottom: float, height: float) -> Box:
    """A bar over its bucket, with a little air on both sides."""
    left, right = dates.date2num(at), dates.date2num(at + axis.length)  # type: ignore[no-untyped-call]
    return left + _AIR * (right - left), bottom, (1 - 2 * _AIR) * (right - left), height


def _changes(axes: Axes, axis: Axis, *, narrow: bool) -> None:
    top = axes.get_ylim()[1]
    for at, numbers in _marks(axis, narrow=narrow):
        axes.axvline(at, color=hex_of("notice"), linewidth=1.2, dashes=(3, 3), zorder=2)  # type: ignore[arg-type]
        axes.annotate(
            ", ".join(map(str, numbers)),
            (at, top),
            xytext=(0, 1),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=10,
            color=QUIET,
        )


def _marks(axis: Axis, *, narrow: bool) -> list[tuple[datetime, list[int]]]:
    """The changes by their numbers. Those so near to each other that one would cover the other share a line."""
    marks: list[tuple[datetime, list[int]]] = []
    apart = (axis.end - axis.start) / (14 if narrow else 28)
    for number, change in enumerate(axis.changes, start=1):
        at = change.at.astimezone(timezone.utc)
        if marks and at - marks[-1][0] < apart:
            marks[-1][1].append(number)
        elif axis.start <= at <= axis.end:
            marks.append((at, [number]))
    return marks


def _floor(at: datetime, grain: str) -> datetime:
    at = at.astimezone(timezone.utc).replace(second=0, microsecond=0)
    if grain == "minute":
        return at
    return at.replace(minute=0) if grain == "hour" else at.replace(hour=0, minute=0)
