"""Measures a window from the table alone (promise P1), in one read-only snapshot, so that its numbers fit together.

SQL counts (`sql/measure.sql`), `measures/` divides, and this module is the edge between the two: it reads. What each
number means is said in `measures/report.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from .emptiness import nothing_in
from .measures import facts, tallies
from .measures.report import Measurement, Window
from .measures.summary import summarise
from .model import Outcome
from .postgres.connection import Connection, reading
from .scoped import ScopeReader
from .sql import named_queries

__all__ = ["STEPS", "Measurement", "Window", "measure"]

_Fact = TypeVar("_Fact", bound=msgspec.Struct)


STEPS = 10
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
        NothingToMeasure: no search lies in the window; the message says what there is.
    """
    with reading(connection):
        connection.execute(named_queries("measure")["settings"])
        reader = ScopeReader(connection, window, useful_from)
        alike = reader.alike()
        if not alike:
            raise nothing_in(connection, window, "measure")
        step(1)
        found = _facts(reader, alike, step)
    measurement = summarise(found, window, useful_from)
    step(1)
    return measurement


def _facts(reader: ScopeReader, alike: list[facts.AlikeFact], step: Callable[[int], None]) -> facts.Facts:
    def read(query: str, fact: type[_Fact], file: str = "measure") -> list[_Fact]:
        return done(reader.all(file, query, fact))

    def done(found: list[_Fact]) -> list[_Fact]:
        step(1)
        return found

    return facts.Facts(
        extent=tallies.extent(alike),
        groups=tallies.groups(alike, read("latencies", facts.LatencyFact)),
        answers=read("answers", facts.AnswersFact),
        conditions=tallies.conditions(alike),
        reasons=tallies.reasons(alike),
        epochs=done(reader.epochs(alike)),
        shown=read("shown", facts.ShownFact),
        opened=read("opened", facts.OpenedFact),
        votes=read("votes", facts.VotesFact),
        stored=read("stored", facts.StoredFact, "assessments"),
        assessed=read("assessed", facts.AssessedFact, "assessments"),
    )
