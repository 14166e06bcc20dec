"""What has arrived and was not looked at yet: numbers of writers, and what the statements of `sql/arrivals.sql` are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.multirange import Multirange
from psycopg.types.range import Range

from ragledger.postgres.connection import Connection
from ragledger.sql import named_queries

__all__ = ["Numbers", "behind", "given", "joined", "led", "parts", "query", "schema_of", "size"]

Numbers = Sequence[Range[int]]


def query(name: str) -> Any:
    """A statement of `sql/arrivals.sql`."""
    return named_queries("arrivals", "ragledger_collector.sql")[name]


def led(connection: Connection) -> bool:
    """Whether the session is the runner now: nobody else is, and nobody works for one that is gone."""
    if not _told(connection, "lock", {}):
        return False
    if _told(connection, "alone", {}):
        return True
    connection.execute(query("unlock"))
    return False


def joined(connection: Connection, runner: int) -> bool:
    """Whether the session may work for the runner, which is the session of that backend."""
    return _told(connection, "join", {}) and _told(connection, "leads", {"runner": runner})


def _told(connection: Connection, name: str, given: dict[str, Any]) -> bool:
    row = connection.execute(query(name), given).fetchone()
    return row is not None and bool(row[0])


def schema_of(connection: Connection) -> str:
    """Whose tables the session reads and writes."""
    row: Any = connection.execute(query("schema")).fetchone()
    return str(row[0])


def behind(connection: Connection) -> list[tuple[UUID, Multirange[int]]]:
    """By writer, the numbers that landed and were not looked at."""
    rows: list[Any] = connection.execute(query("behind")).fetchall()
    return rows


def given(numbers: Sequence[tuple[UUID, Numbers]]) -> dict[str, Any]:
    """Parameters of `touched` and `looked_at`."""
    return {
        "writers": [writer for writer, _ in numbers],
        "numbers": [
            "{" + ",".join(f"[{one.lower},{one.upper})" for one in ranges) + "}" for _, ranges in numbers
        ],
    }


def parts(
    numbers: Sequence[tuple[UUID, Multirange[int]]], most: int
) -> Iterator[Sequence[tuple[UUID, Numbers]]]:
    """Numbers of writers, at most so many together."""
    part: list[tuple[UUID, list[Range[int]]]] = []
    room = most
    for writer, ranges in numbers:
        for one in ranges:
            first, past = one.lower or 0, one.upper or 0
            while first < past:
                last = min(past, first + room)
                if not part or part[-1][0] != writer:
                    part.append((writer, []))
                part[-1][1].append(Range(first, last, "[)"))
                room -= last - first
                first = last
                if not room:
                    yield part
                    part, room = [], most
    if part:
        yield part


def size(ranges: Numbers) -> int:
    """How many numbers these are."""
    return sum((one.upper or 0) - (one.lower or 0) for one in ranges)
