"""What a page shows, as values: who read it and who draws it need not know each other."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from ragledger.measures.report import Measurement, Window
from ragledger.panels.macros import TimeRange
from ragledger.panels.panel import Dashboard, Panel

__all__ = ["Change", "Choice", "Picture", "Shown", "View"]


class Choice(Struct, frozen=True, kw_only=True):
    """Which searches and whose votes are meant. None filters nothing, and is no bound; `voter` None: as votes there are."""

    project: str | None = None
    corpus: str | None = None
    surface: str | None = None
    epoch: str | None = None
    actor_kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    voter: str | None = None
    k: int = 5

    def window(self) -> Window:
        """The part that `measure` knows."""
        return Window(
            project=self.project, corpus=self.corpus, surface=self.surface, since=self.since, until=self.until
        )


class Shown(Struct, frozen=True, kw_only=True):
    """A panel with the rows that its query gave."""

    panel: Panel
    rows: tuple[tuple[Any, ...], ...]

    @property
    def measured(self) -> bool:
        """Whether there is anything but unknowns in it; a table says of each number that it is unknown."""
        if self.panel.kind == "table":
            return bool(self.rows)
        numbers = [n for n, column in enumerate(self.panel.columns) if column.unit not in {"text", "time"}]
        return any(row[n] is not None for row in self.rows for n in numbers)

    def values(self, name: str) -> list[Any]:
        """A column's."""
        place = [column.name for column in self.panel.columns].index(name)
        return [row[place] for row in self.rows]


class Change(Struct, frozen=True, kw_only=True):
    """A moment that is drawn across all time series."""

    at: datetime
    title: str
    text: str
    colour: str


class View(Struct, frozen=True, kw_only=True):
    """A dashboard, filled in: its panels in order, and what changed meanwhile."""

    dashboard: Dashboard
    panels: tuple[Shown, ...]
    changes: tuple[Change, ...] = ()


class Picture(Struct, frozen=True, kw_only=True):
    """Everything on the page.

    `grain` is that of the rollups, `counted_until` when the latest counted search of these projects ran, `behind` how
    many records the collector had not looked at, `minutes_waiting` and `days_waiting` what it had not counted again.
    `measurement` is None where it was not read, for the reason in
    `unmeasured`.
    """

    made_at: datetime
    choice: Choice
    time_range: TimeRange
    projects: tuple[str, ...]
    voter: str
    grain: str
    searches: int
    counted_until: datetime | None
    behind: int
    minutes_waiting: int
    days_waiting: int
    views: tuple[View, ...]
    measurement: Measurement | None = None
    unmeasured: str = ""
