"""What a dashboard is made of, as values: no Grafana, no plotting library, no SQL text."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = [
    "COLUMNS_OF_A_DASHBOARD",
    "NOT_MEASURED",
    "Annotation",
    "Column",
    "Dashboard",
    "Kind",
    "Panel",
    "Reading",
    "Row",
    "Step",
    "Style",
    "Unit",
    "Variable",
]

NOT_MEASURED = "not measured"
"""How an unknown number reads, everywhere (P8)."""

COLUMNS_OF_A_DASHBOARD = 24
"""Widths are parts of this, as in Grafana."""

Kind: TypeAlias = Literal["timeseries", "bars", "stat", "table"]
"""`timeseries`: a column `time`, ascending, and a series per numeric column. `bars`: a text column first, then a bar per
numeric column. `stat`: one row, each column a number of its own. `table`: rows as they come."""

Unit: TypeAlias = Literal["count", "share", "score", "number", "ms", "seconds", "bytes", "time", "text"]
"""`share`: 0 to 1, shown in percent. `time`: a moment. `number`: a mean, which may be a fraction."""

Style: TypeAlias = Literal["line", "stacked", "edge", "band", "support"]
"""How a series of a `timeseries` is drawn. `stacked`: bars on top of each other. `edge` and the `band` after it: no
lines, the space between the two is filled. `support`: pale bars on an axis of their own, the n behind a share."""


class Reading(Struct, frozen=True, kw_only=True):
    """What a panel shows, and what to make of it: for people who have not seen it before."""

    shows: str
    good: str
    bad: str
    do: str


class Column(Struct, frozen=True, kw_only=True):
    """One column of the result. `colour` is a name in `colours.py`; None: a text, a time, or no colour of its own."""

    name: str
    meaning: str
    unit: Unit = "count"
    colour: str | None = None
    style: Style = "line"


class Step(Struct, frozen=True, kw_only=True):
    """From `start` on (None: from the bottom) a number has this colour."""

    start: float | None
    colour: str


class Panel(Struct, frozen=True, kw_only=True):
    """One picture: `query` names one of the queries in `sql/<dashboard>.sql`.

    `columns` are those of its result, in order. `empty` is what it says without any row: no skips is good news, no
    votes is "not measured". `largest` is the fixed top of the axis, for shares. `steps` colour a `stat`.
    """

    title: str
    kind: Kind
    query: str
    reading: Reading
    columns: tuple[Column, ...]
    width: int = 12
    height: int = 8
    empty: str = NOT_MEASURED
    largest: float | None = None
    steps: tuple[Step, ...] = ()


class Row(Struct, frozen=True, kw_only=True):
    """Panels under one heading, laid out from left to right."""

    title: str
    panels: tuple[Panel, ...]


class Variable(Struct, frozen=True, kw_only=True):
    """What the viewer chooses. `query` names one of `sql/variables.sql`; else the choice is among `options`.

    `every` is the value that stands for all of them; None with `multi`: all are spelled out.
    """

    name: str
    label: str
    description: str
    query: str | None = None
    options: tuple[str, ...] = ()
    multi: bool = True
    every: str | None = None


class Annotation(Struct, frozen=True, kw_only=True):
    """Moments drawn across all time series: `query` names one of `sql/variables.sql`."""

    name: str
    query: str
    colour: str


class Dashboard(Struct, frozen=True, kw_only=True):
    """A page of rows. `name` is that of its file of queries, and of its JSON file."""

    uid: str
    name: str
    title: str
    description: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...]
    annotations: tuple[Annotation, ...] = ()
    since: str = "now-7d"

    def panels(self) -> tuple[Panel, ...]:
        """All of its panels, in order."""
        return tuple(panel for row in self.rows for panel in row.panels)
