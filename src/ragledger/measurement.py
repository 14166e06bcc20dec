"""Measures a window from the table alone (promise P1), in one read-only snapshot, so that its numbers fit together.

SQL counts (`sql/measure.sql`), `measures/` divides, and this module is the edge between the two: it reads. What each
number means is said in `measures/report.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import TypeVar

import msgspec

from .errors import NothingToMeasure
from .measures import facts
from .measures.report import Measurement, Window
from .measures.summary import summarise
from .model import Outcome
from .postgres.connection import Connection, reading
from .scoped import ScopeReader
from .sql import named_queries

__all__ = ["STEPS", "Measurement", "Window", "measure"]

_Fact = TypeVar("_Fact", bound=msgspec.Struct)


STEPS = 12
"""How often `measure` says that it has come further."""


def measure(
    connection: Connection,
    window: Window,
    *,
    useful_from: Outcome = "relevant",
    step: Callable[[int], None] = lambda _: None,
) -> Measurement:
    """Measures the searches of `window`; a vote of `useful_from` or better says that a hit was useful.

    `step` is called after each of the `STEPS` parts of the work.

    Raises:
        NothingToMeasure: no search lies in the window; the message says when the newest one was.
    """
    with reading(connection):
        connection.execute(named_queries("measure")["settings"])
        reader = ScopeReader(connection, window, useful_from)
        extent = reader.one("measure", "extent", facts.ExtentFact)
        if not extent.searches:
            raise NothingToMeasure(_nothing(window, _newest(connection, window, useful_from)))
        step(1)
        found = _facts(reader, extent, step)
    measurement = summarise(found, window, useful_from)
    step(1)
    return measurement


def _facts(reader: ScopeReader, extent: facts.ExtentFact, step: Callable[[int], None]) -> facts.Facts:
    def read(query: str, fact: type[_Fact], file: str = "measure") -> list[_Fact]:
        found = reader.all(file, query, fact)
        step(1)
        return found

    return facts.Facts(
        extent=extent,
        groups=read("groups", facts.GroupFact),
        answers=read("answers", facts.AnswersFact),
        conditions=read("conditions", facts.ConditionsFact)[0],
        reasons=read("reasons", facts.ReasonFact),
        epochs=read("epochs", facts.EpochFact),
        shown=read("shown", facts.ShownFact),
        opened=read("opened", facts.OpenedFact),
        votes=read("votes", facts.VotesFact),
        stored=read("stored", facts.StoredFact, "assessments"),
        assessed=read("assessed", facts.AssessedFact, "assessments"),
    )


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
