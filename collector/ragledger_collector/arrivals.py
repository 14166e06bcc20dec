"""What has arrived and was not looked at yet: numbers of writers, and what the statements of `sql/arrivals.sql` are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.multirange import Multirange
from psycopg.types.range import Range

from ragledger.postgres.connection import Connection
from ragledger.sql import named_queries

__all__ = ["behind", "given", "parts", "query", "size"]

Numbers = Sequence[Range[int]]


def query(name: str) -> Any:
    """A statement of `sql/arrivals.sql`."""
    return named_queries("arrivals", "ragledger_collector.sql")[name]


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
