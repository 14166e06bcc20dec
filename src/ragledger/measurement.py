"""Measures a window from the table alone (promise P1), in one read-only snapshot, so that its numbers fit together.

SQL counts (`sql/measure.sql`), `measures/` divides, and this module is the edge between the two: it reads. What each
number means is said in `measures/report.py`.
"""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from .errors import NothingToMeasure
from .measures import facts
from .measures.report import Measurement, Window
from .measures.summary import summarise
from .model import Outcome
from .postgres.connection import Connection, reading
from .scoped import ScopeReader

__all__ = ["Measurement", "Window", "measure"]


def measure(connection: Connection, window: Window, *, useful_from: Outcome = "relevant") -> Measurement:
    """Measures the searches of `window`; a vote of `useful_from` or better says that a hit was useful.

    Raises:
        NothingToMeasure: no search lies in the window; the message says when the newest one was.
    """
    with reading(connection):
        reader = ScopeReader(connection, window, useful_from)
        extent = reader.one("measure", "extent", facts.ExtentFact)
        if not extent.searches:
            raise NothingToMeasure(_nothing(window, _newest(connection, window, useful_from)))
        found = facts.Facts(
            extent=extent,
            groups=reader.all("measure", "groups", facts.GroupFact),
            conditions=reader.one("measure", "conditions", facts.ConditionsFact),
            reasons=reader.all("measure", "reasons", facts.ReasonFact),
            epochs=reader.all("measure", "epochs", facts.EpochFact),
            shown=reader.all("measure", "shown", facts.ShownFact),
            accessed=reader.all("measure", "accessed", facts.AccessedFact),
            judged=reader.all("measure", "judged", facts.JudgedFact),
            voters=reader.all("measure", "voters", facts.VoterFact),
        )
    return summarise(found, window, useful_from)


def _newest(connection: Connection, window: Window, useful_from: Outcome) -> datetime | None:
    unbounded = msgspec.structs.replace(window, since=None, until=None)
    return (
        ScopeReader(connection, unbounded, useful_from).one("measure", "extent", facts.ExtentFact).last_search
    )


def _nothing(window: Window, newest: datetime | None) -> str:
    named = [
        f"{name} {value!r}"
        for name, value in (
            ("project", window.project),
            ("corpus", window.corpus),
            ("surface", window.surface),
        )
        if value is not None
    ]
    bounds = [
        f"{word} {_minute(bound)}"
        for word, bound in (("since", window.since), ("until", window.until))
        if bound is not None
    ]
    searches = f"no search of {', '.join(named)}" if named else "no search"
    if newest is None:
        return f"nothing to measure: {searches} was ever recorded"
    return f"nothing to measure: {searches} {' '.join(bounds)}; the newest one was at {_minute(newest)}"


def _minute(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
