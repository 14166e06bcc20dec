"""Reads the searches of a window, and what belongs to them, as typed facts. Which searches are meant is `sql/scope.sql`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, get_args

import msgspec

from .measures import tallies
from .measures.diagnosis import TOP as TOPMOST
from .measures.facts import AlikeFact, EpochFact, WeightsFact
from .measures.precision import CUTS
from .measures.ranks import TOP
from .measures.report import Window
from .model import Outcome
from .postgres.connection import Connection
from .sql import named_queries

__all__ = ["OUTCOMES", "ScopeReader", "scope_parameters"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""From the worst to the best."""

Fact = TypeVar("Fact", bound=msgspec.Struct)


class ScopeReader:
    """Runs named queries over one window, or what it holds of one epoch. The columns of a query are the fields of its fact, in that order."""

    def __init__(
        self, connection: Connection, window: Window, useful_from: Outcome, epoch: str | None = None
    ) -> None:
        self.connection, self.window = connection, window
        self._parameters = {
            **scope_parameters(window, epoch),
            "useful": list(OUTCOMES[OUTCOMES.index(useful_from) :]),
            "top": TOPMOST,
            "cuts": [*CUTS, None],
        }

    def all(self, file: str, query: str, fact: type[Fact], **given: object) -> list[Fact]:
        """Every row of the query of `sql/<file>.sql`; `given` are parameters of its own."""
        text = named_queries("scope")["scope"] + "\n" + named_queries(file)[query]
        rows = self.connection.execute(text, {**self._parameters, **given}).fetchall()
        return [msgspec.convert(row, fact) for row in rows]

    def one(self, file: str, query: str, fact: type[Fact]) -> Fact:
        """Its first row."""
        return self.all(file, query, fact)[0]

    def alike(self) -> list[AlikeFact]:
        """All that is counted of searches, for `measures/tallies.py`; empty when there is none."""
        return self.all("measure", "searches", AlikeFact)

    def epochs(self, alike: Sequence[AlikeFact]) -> list[EpochFact]:
        """The epochs of these searches, with what they ran under."""
        latest = tallies.latest(alike)
        where = {
            "projects": [project for project, _, _ in latest],
            "epochs": [epoch for _, epoch, _ in latest],
            "moments": [moment for _, _, moment in latest],
        }
        return tallies.epochs(alike, self.all("measure", "weights", WeightsFact, **where))


def scope_parameters(window: Window, epoch: str | None = None) -> dict[str, Any]:
    """What `sql/scope.sql` needs to be told."""
    return {**msgspec.structs.asdict(window), "epoch": epoch, "beyond": TOP + 1}
