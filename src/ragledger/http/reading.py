"""What is read from the table for an answer: one search as it was, and the measurement of a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from ragledger.errors import NothingToMeasure, UnknownSearch
from ragledger.feedback import parse_reference
from ragledger.measurement import Measurement, Window, measure
from ragledger.postgres.connection import Connection, by_name, reading, translated
from ragledger.sql import named_queries

from .gate import Refused

__all__ = ["Table", "window_of"]

_DAYS = (1, 7, 90)
_LONGEST_WORD = 512


class Table:
    """Reads on a connection of its own each time: rarely asked, and nothing is held between."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect

    def search(self, search_id: str) -> dict[str, Any]:
        """The structure of one search.

        Raises:
            MalformedReference, UnknownSearch, DatabaseUnavailable, SchemaError
        """
        found: UUID = parse_reference(search_id, None, 1).search_id
        with translated(), self._connect() as connection, reading(connection):
            searches = _rows(connection, "search", found)
            if not searches:
                raise UnknownSearch(found)
            deliveries = _rows(connection, "delivery", found)
            return searches[0] | {
                "hits": _rows(connection, "hits", found),
                "delivery": deliveries[0] if deliveries else None,
                "assessments": _rows(connection, "assessments", found),
            }

    def ping(self) -> None:
        """Raises DatabaseUnavailable, SchemaError when the table cannot be read now."""
        self._connect().close()

    def measurement(self, window: Window) -> Measurement:
        """The numbers of a window. Raises Refused where there is none, DatabaseUnavailable, SchemaError."""
        with translated(), self._connect() as connection:
            try:
                return measure(connection, window)
            except NothingToMeasure as exc:
                raise Refused(404, "nothing_to_measure", str(exc)) from None


def window_of(asked: Mapping[str, str]) -> Window:
    """The last 7 days, or as many as are asked for, at least 1 and at most 90. Raises Refused."""
    if unknown := sorted(set(asked).difference({"days", "project", "corpus", "surface"})):
        raise Refused(
            400, "malformed_query", f"{len(unknown)} parameter(s) are unknown; days, project, corpus, surface"
        )
    least, usual, most = _DAYS
    days = asked.get("days", str(usual))
    if not (days.isascii() and days.lstrip("-").isdecimal() and len(days) < 10):
        raise Refused(400, "malformed_query", "days is a whole number")
    named = {name: asked.get(name) for name in ("project", "corpus", "surface")}
    if any(len(word) > _LONGEST_WORD or "\0" in word for word in named.values() if word is not None):
        raise Refused(400, "malformed_query", "project, corpus and surface are short texts")
    since = datetime.now(timezone.utc) - timedelta(days=min(most, max(least, int(days))))
    return Window(since=since, project=named["project"], corpus=named["corpus"], surface=named["surface"])


def _rows(connection: Connection, query: str, search_id: UUID) -> list[dict[str, Any]]:
    return list(by_name(connection.execute(named_queries("http")[query], {"search_id": search_id})))
