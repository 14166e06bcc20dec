"""Reads all that a page shows in one read-only snapshot: rollups and views, by the panels' own questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from ragledger.errors import NothingToMeasure
from ragledger.measures.emptiness import There, nothing
from ragledger.panels import dashboards
from ragledger.panels.choices import ALL
from ragledger.panels.macros import TimeRange, expand
from ragledger.panels.panel import Dashboard, Variable
from ragledger.panels.queries import annotation_query, filled, panel_query
from ragledger.postgres.connection import Connection, reading
from ragledger.sql import named_queries

from .picture import Change, Choice, Picture, Shown, View

__all__ = ["read"]

_EVER = TimeRange(
    start=datetime.fromisoformat("1970-01-01T00:00:00+00:00"),
    end=datetime.fromisoformat("9999-01-01T00:00:00+00:00"),
)
_SHORTEST = timedelta(minutes=1)
_COLLECT = "run `ragledger collect --once`, or give --collect"
_FILTERS = ("corpus", "surface", "epoch", "actor_kind")


def read(connection: Connection, choice: Choice, now: datetime) -> Picture:
    """Everything.

    Raises:
        NothingToMeasure: no search was recorded, none was counted yet, or none lies in the window; the message says what there is.
    """
    with reading(connection):
        return _Reader(connection, choice, now).picture()


class _Reader:
    """One snapshot's questions, with the values of their variables."""

    def __init__(self, connection: Connection, choice: Choice, now: datetime) -> None:
        self._connection = connection
        self._choice = choice
        self._now = now
        self._values: dict[str, str | Sequence[str]] = {}
        self._range = _EVER

    def picture(self) -> Picture:
        projects = self._projects()
        self._values = {name: [getattr(self._choice, name) or ALL] for name in _FILTERS}
        self._values.update(project=projects, k=str(self._choice.k))
        first, last = self._own("extent")[0]
        self._range = _window(self._choice, first, self._now)
        self._range = _window(self._choice, self._own("first")[0][0] or first, self._now)
        searches = self._own("searches")[0][0]
        if not searches:
            raise self._nothing()
        self._values["voter"] = voter = self._voter()
        behind, minutes, days = self._own("behind")[0]
        return Picture(
            made_at=self._now,
            choice=self._choice,
            time_range=self._range,
            projects=projects,
            voter=voter,
            grain=self._own("grain")[0][0],
            searches=searches,
            counted_until=last,
            behind=behind,
            minutes_waiting=minutes,
            days_waiting=days,
            views=tuple(self._view(one) for one in dashboards()),
        )

    def _projects(self) -> tuple[str, ...]:
        known = [row[0] for row in self._ask(named_queries("variables", "ragledger.panels.sql")["project"])]
        if self._choice.project is not None:
            known = [name for name in known if name == self._choice.project]
        if known:
            return tuple(known)
        raise self._nothing()

    def _nothing(self) -> NothingToMeasure:
        """What was counted is all that a page shows, so that is what there is instead."""
        choice = msgspec.structs.asdict(self._choice)
        asked = {name: choice[name] for name in ("project", *_FILTERS, "since", "until")}
        if not self._own("arrived")[0][0]:
            return NothingToMeasure(nothing("show", "search", asked, None))
        searches, first, last, projects, corpora = self._own("counted")[0]
        there = searches and There(
            where="counted are",
            searches=searches,
            first_search=first,
            last_search=last,
            projects=projects,
            corpora=corpora,
        )
        hint = "" if self._choice.project in (None, *(projects or ())) and there else f"; {_COLLECT}"
        return NothingToMeasure(
            nothing("show", "search that was counted", asked, there or None, "nothing was counted") + hint
        )

    def _voter(self) -> str:
        """People's votes where there are any, else the kind that judged most."""
        voted = [row[0] for row in self._own("voters")]
        return self._choice.voter or (voted or ["human"])[0]

    def _view(self, dashboard: Dashboard) -> View:
        values = {**_first_options(dashboard.variables), **self._values}
        panels = []
        for panel in dashboard.panels():
            rows = self._ask(panel_query(dashboard, panel), values)
            panels.append(Shown(panel=panel, rows=tuple(rows)))
        changes = [
            Change(at=at, title=title, text=text, colour=annotation.colour)
            for annotation in dashboard.annotations
            for at, title, text, _ in self._ask(annotation_query(annotation), values)
        ]
        return View(dashboard=dashboard, panels=tuple(panels), changes=tuple(changes))

    def _own(self, name: str) -> list[Any]:
        return self._ask(filled(named_queries("report")[name]))

    def _ask(self, query: Any, values: Mapping[str, str | Sequence[str]] | None = None) -> list[Any]:
        text = expand(query, self._range, self._values if values is None else values)
        return self._connection.execute(text).fetchall()


def _first_options(variables: Sequence[Variable]) -> dict[str, str]:
    return {variable.name: variable.options[0] for variable in variables if variable.options}


def _window(choice: Choice, first: datetime | None, now: datetime) -> TimeRange:
    """From the first bucket that has anything; no later bound is now."""
    end = choice.until or now
    start = max(filter(None, (choice.since, first)), default=end)
    return TimeRange(start=min(start, end - _SHORTEST), end=end)
