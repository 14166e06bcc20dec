"""The refusal of a window in which there is nothing, for every command that reads the table."""

from __future__ import annotations

import msgspec

from .errors import NothingToMeasure
from .measures.emptiness import There, nothing
from .measures.facts import ThereFact
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
    # Where the filters leave out nothing more, the wider place is the same one: it is asked about once.
    wider = {
        Window(): "searches in the table",
        at_any_time: "searches at other times",
        window: "others in this window",
    }
    found = (_there(connection, place, where) for place, where in reversed(wider.items()))
    return NothingToMeasure(nothing(to_do, kind, asked, next(filter(None, found), None)))


def _there(connection: Connection, window: Window, where: str) -> There | None:
    places = ScopeReader(connection, window, "relevant").all("emptiness", "there", ThereFact)
    if not places:
        return None
    return There(
        where=where,
        searches=sum(place.searches for place in places),
        first_search=min(place.first_search for place in places),
        last_search=max(place.last_search for place in places),
        projects=sorted({place.project for place in places}),
        corpora=list({place.corpus for place in places}),
    )
