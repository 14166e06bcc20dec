"""The refusal of a window in which there is nothing, for every command that reads the table."""

from __future__ import annotations

import msgspec

from .errors import NothingToMeasure
from .measures import tallies
from .measures.emptiness import There, nothing
from .measures.report import Window
from .postgres.connection import Connection
from .scoped import ScopeReader

__all__ = ["nothing_in"]


def nothing_in(
    connection: Connection, window: Window, to_do: str, *, kind: str = "search", epoch: str | None = None
) -> NothingToMeasure:
    """What to raise: the nearest that there is stands in it, in the window, at other times, or at all."""
    asked = {**msgspec.structs.asdict(window), "epoch": epoch}
    at_any_time = msgspec.structs.replace(window, since=None, until=None)
    wider = (
        (window, "others in this window"),
        (at_any_time, "searches at other times"),
        (Window(), "searches in the table"),
    )
    found = (_there(connection, place, where) for place, where in wider)
    return NothingToMeasure(nothing(to_do, kind, asked, next(filter(None, found), None)))


def _there(connection: Connection, window: Window, where: str) -> There | None:
    alike = ScopeReader(connection, window, "relevant").alike()
    if not alike:
        return None
    extent = tallies.extent(alike)
    return There(
        where=where,
        searches=extent.searches,
        first_search=extent.first_search,
        last_search=extent.last_search,
        projects=extent.projects or (),
        corpora=extent.corpora or (),
    )
