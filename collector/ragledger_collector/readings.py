"""What the collector can tell of the table in numbers, read from rollups and the table in one snapshot, never from spans (P1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
from psycopg.rows import dict_row

from ragledger.postgres.connection import Connection
from ragledger.sql import named_queries

from . import arrivals

__all__ = ["HOUR", "RECENT", "WEEK", "Readings", "Searched", "Voted", "Written", "read", "read_waiting"]

RECENT, HOUR, WEEK = "10m", "1h", "7d"
"""The windows, as they are called in `sql/readings.sql` and on every metric."""

Rows = Callable[[str], "list[dict[str, Any]]"]


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """Searches of a window, a project and a surface."""

    span: str
    project: str | None  # None: of several, which have no readings of their own
    surface: str | None
    ok: int = 0
    error: int = 0
    cancelled: int = 0
    skipped: int = 0
    degraded: int = 0
    vector_available: int = 0
    vector_unavailable: int = 0
    told: int = 0
    found: int = 0
    epochs: int = 0


class Voted(msgspec.Struct, frozen=True, kw_only=True):
    """Judged hits of the week at positions of at most k, by one kind of voter, and how many were shown there."""

    project: str | None
    surface: str | None
    voter: str
    k: int
    searches: int
    useful: float
    judged: int
    useful_sq: float
    judged_sq: int
    useful_judged: float
    shown: int = 0


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """Records of a project, from the beginning. The oldest project comes first."""

    project: str | None
    surface: None = None  # a process writes for many
    written: int = 0
    refused: int = 0
    rejected: int = 0
    expired: int = 0  # votes that waited for a search or a hit that never came
    pending: int = 0


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything, as of one snapshot."""

    searched: Sequence[Searched] = ()
    voted: Sequence[Voted] = ()
    written: Sequence[Written] = ()
    backlog: int = 0
    minutes: int = 0
    days: int = 0


def read(connection: Connection, now: datetime) -> Readings:
    """The windows begin ten minutes and an hour before the minute of `now`, and a week before its day: that one reads days."""
    now = now.astimezone(timezone.utc)
    minute = now.replace(second=0, microsecond=0)
    given = {
        "recent": minute - timedelta(minutes=10),
        "hour": minute - timedelta(hours=1),
        "week": now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=7),
    }
    with _snapshot(connection, given) as rows:
        shown: dict[tuple[str, str | None], dict[int, int]] = defaultdict(dict)
        for row in rows("shown"):
            shown[row["project"], row["surface"]][row["position"]] = row["shown"]
        return msgspec.structs.replace(
            _waiting(connection, rows),
            searched=[Searched(**row) for row in rows("searches")],
            voted=[
                Voted(**row, shown=_up_to(row["k"], shown[row["project"], row["surface"]]))
                for row in rows("judged")
            ],
        )


def read_waiting(connection: Connection) -> Readings:
    """What is there and what waits for the collector; nothing of what searches and votes came to."""
    with _snapshot(connection, {}) as rows:
        return _waiting(connection, rows)


@contextmanager
def _snapshot(connection: Connection, given: Mapping[str, datetime]) -> Iterator[Rows]:
    queries = named_queries("readings", "ragledger_collector.sql")
    with connection.transaction(), connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield lambda name: cursor.execute(queries[name], given).fetchall()


def _waiting(connection: Connection, rows: Rows) -> Readings:
    waiting = rows("waiting")[0]
    return Readings(
        written=[Written(**row) for row in rows("records")],
        backlog=sum(arrivals.size(ranges) for _, ranges in arrivals.behind(connection)),
        minutes=waiting["minutes"],
        days=waiting["days"],
    )


def _up_to(k: int, shown: dict[int, int]) -> int:
    return sum(hits for position, hits in shown.items() if position <= k)
