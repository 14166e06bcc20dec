"""A page's values without a database: rows for every panel, by what its columns are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from ragledger.panels import dashboards
from ragledger.panels.macros import TimeRange
from ragledger.panels.panel import Column, Panel
from ragledger.report.picture import Change, Choice, Picture, Shown, View

START = datetime(2026, 3, 1, tzinfo=timezone.utc)
DAYS = 30
WHEN = TimeRange(start=START, end=START + timedelta(days=DAYS))


def value(column: Column, number: int, name: str) -> Any:
    """One that fits, told apart by its number."""
    if column.unit == "text":
        return f"{name} {number}"
    if column.unit == "time":
        return START + timedelta(days=number)
    if column.unit == "share":
        return {"low": 0.2, "high": 0.8}.get(column.name, 0.3 + 0.01 * (number % 30))
    return float(10 + number)


def rows_of(panel: Panel, name: str = "name") -> tuple[tuple[Any, ...], ...]:
    """As many as its kind has; of a series one is unknown, with one that stands alone behind it."""
    many = {"timeseries": DAYS, "bars": 5, "stat": 1, "table": 10}[panel.kind]
    rows = [tuple(value(column, number, name) for column in panel.columns) for number in range(many)]
    if panel.kind == "timeseries":
        for gap in (10, 12):
            rows[gap] = (rows[gap][0], *[None] * (len(rows[gap]) - 1))
    return tuple(rows)


def nothing_of(_: Panel) -> tuple[tuple[Any, ...], ...]:
    return ()


def unknowns_of(panel: Panel) -> tuple[tuple[Any, ...], ...]:
    """A row that knows nothing but its words and its time."""
    return (
        tuple(value(column, 0, "x") if column.unit in {"text", "time"} else None for column in panel.columns),
    )


def picture(
    rows: Callable[[Panel], tuple[tuple[Any, ...], ...]] | None = None,
    *,
    name: str = "name",
    changes: int = 2,
    **given: Any,
) -> Picture:
    """Every dashboard with these rows."""
    changed = tuple(
        Change(at=START + timedelta(days=8 + number), title=f"changed {number}", text=name, colour="notice")
        for number in range(changes)
    )
    views = tuple(
        View(
            dashboard=dashboard,
            panels=tuple(
                Shown(panel=panel, rows=rows(panel) if rows else rows_of(panel, name))
                for panel in dashboard.panels()
            ),
            changes=changed if dashboard.annotations else (),
        )
        for dashboard in dashboards()
    )
    values: dict[str, Any] = {
        "made_at": START + timedelta(days=DAYS),
        "choice": Choice(since=WHEN.start, until=WHEN.end),
        "time_range": WHEN,
        "projects": (name,),
        "voter": "human",
        "grain": "day",
        "searches": 1234,
        "counted_until": START + timedelta(days=DAYS - 1),
        "behind": 0,
        "minutes_waiting": 0,
        "days_waiting": 0,
        "views": views,
        **given,
    }
    return Picture(**values)
