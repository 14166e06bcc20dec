"""Measures a window from the table alone (promise P1), in one read-only snapshot, so that its numbers fit together.

SQL counts (`sql/measure.sql`), `measures/` divides, and this module is the edge between the two: it reads. What each
number means is said in `measures/report.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .emptiness import nothing_in
from .measures import facts, tallies
from .measures.report import Measurement, Window
from .measures.summary import summarise
from .model import Outcome
from .postgres.connection import Connection, reading
from .postgres.snapshots import sharing
from .scoped import ScopeReader
from .side_by_side import Read, read_all
from .sql import named_queries

__all__ = ["STEPS", "Measurement", "Window", "measure"]

_MANY = 100_000
"""Searches from which on a second connection is worth its while."""

STEPS = 10
"""How often `measure` says that it has come further."""


def measure(
    connection: Connection,
    window: Window,
    *,
    useful_from: Outcome = "relevant",
    step: Callable[[int], None] = lambda _: None,
    connect: Callable[[], Connection] | None = None,
) -> Measurement:
    """Measures the searches of `window`; a vote of `useful_from` or better says that a hit was useful.

    `step` is told of `STEPS` parts of the work as they are done. With `connect`, which makes another connection to the same
    database, many searches are read on two, in one snapshot.

    Raises:
        NothingToMeasure: no search lies in the window; the message says what there is.
    """
    with reading(connection):
        here = _reader(connection, window, useful_from)
        alike = here.alike()
        if not alike:
            raise nothing_in(connection, window, "measure")
        step(1)
        extent = tallies.extent(alike)
        with _beside(here, useful_from, connect if extent.searches >= _MANY else None) as other:
            found = read_all(_reads(alike), here, other, step)
        epochs = here.epochs(alike)
        step(1)
    groups = tallies.groups(alike, found.pop("latencies"))
    conditions, reasons = tallies.conditions(alike), tallies.reasons(alike)
    measurement = summarise(
        facts.Facts(
            extent=extent, groups=groups, conditions=conditions, reasons=reasons, epochs=epochs, **found
        ),
        window,
        useful_from,
    )
    step(1)
    return measurement


def _reads(alike: list[facts.AlikeFact]) -> tuple[Read, ...]:
    """Those that take longest first."""
    return (
        Read("measure", "shown", facts.ShownFact, tallies.parts(alike)),
        Read("measure", "votes", facts.VotesFact),
        Read("measure", "answers", facts.AnswersFact),
        Read("measure", "latencies", facts.LatencyFact),
        Read("assessments", "stored", facts.StoredFact),
        Read("assessments", "assessed", facts.AssessedFact),
        Read("measure", "opened", facts.OpenedFact),
    )


def _reader(connection: Connection, window: Window, useful_from: Outcome) -> ScopeReader:
    connection.execute(named_queries("measure")["settings"])
    return ScopeReader(connection, window, useful_from)


@contextmanager
def _beside(
    here: ScopeReader, useful_from: Outcome, connect: Callable[[], Connection] | None
) -> Iterator[ScopeReader | None]:
    if connect is None:
        yield None
        return
    with sharing(here.connection, connect) as other:
        if other is None:
            yield None
            return
        beside = _reader(other, here.window, useful_from)
        for each in (here, beside):
            each.connection.execute(named_queries("measure")["alone"])
        yield beside
