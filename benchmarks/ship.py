"""Searches per second from the journal to the indexed tables, beside a raw binary COPY of the very same rows.

    python benchmarks/ship.py [--dsn postgresql://...] [--searches 20000] [--rounds 3]

Each round empties the tables, ships a journal, takes the rows out as COPY data, empties again and sends those bytes
back by plain COPY. Goals: 15,000 searches/s and 0.35 of the raw COPY.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import psycopg
from append import search_of
from psycopg import sql

from ragledger.embedded import EmbeddedServer
from ragledger.ids import new_id
from ragledger.journal.journal import Journal
from ragledger.postgres.connection import Connection, connect
from ragledger.schema import apply
from ragledger.shipper import Shipper

DATABASE = "ragledger_bench"
SCHEMA = "ragledger"


def fill(directory: Path, searches: int) -> Journal:
    """A journal with so many searches of 10 hits."""
    import msgspec

    journal = Journal(directory, project="bench", cap_bytes=1 << 32)
    record = search_of(10)
    for _ in range(searches):
        search_id = new_id()
        if journal.put(msgspec.structs.replace(record, search_id=search_id, root_id=search_id)) is not None:
            raise SystemExit("the journal refused a record")
    return journal


def ship(dsn: str, searches: int) -> float:
    """Seconds from a full journal to the last commit."""
    with tempfile.TemporaryDirectory() as directory:
        journal = fill(Path(directory), searches)
        writer = journal.writer
        shipper = Shipper(Path(directory), lambda: connect(dsn, SCHEMA))
        shipper.ship()  # opens the connection
        start = time.perf_counter()
        landed = shipper.ship(writer.state.path if writer is not None else None)
        took = time.perf_counter() - start
        shipper.close()
        journal.release()
    if landed != searches:
        raise SystemExit(f"{landed} of {searches} landed")
    return took


def take_out(connection: Connection) -> dict[str, bytes]:
    """The rows as binary COPY data, then empty tables."""
    rows = {}
    for table in ("searches", "hits"):
        with connection.cursor().copy(
            sql.SQL("COPY {} TO STDOUT (FORMAT BINARY)").format(sql.Identifier(table))
        ) as copy:
            rows[table] = b"".join(bytes(part) for part in copy)
    connection.execute("TRUNCATE searches, hits, feedback, deliveries, assessments")
    return rows


def raw(connection: Connection, rows: dict[str, bytes]) -> float:
    """Seconds that the server needs for the same rows, given as they come."""
    start = time.perf_counter()
    with connection.transaction():
        for table, data in rows.items():
            with connection.cursor().copy(
                sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table))
            ) as copy:
                for offset in range(0, len(data), 1 << 18):
                    copy.write(data[offset : offset + (1 << 18)])
    return time.perf_counter() - start


def run(server_dsn: str, searches: int, rounds: int) -> None:
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {DATABASE}")
        try:
            _rounds(psycopg.conninfo.make_conninfo(server_dsn, dbname=DATABASE), searches, rounds)
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def _rounds(dsn: str, searches: int, rounds: int) -> None:
    shipped, copied = [], []
    with connect(dsn, SCHEMA) as connection:
        apply(connection, SCHEMA)
        for _ in range(rounds):
            shipped.append(searches / ship(dsn, searches))
            rows = take_out(connection)
            copied.append(searches / raw(connection, rows))
            take_out(connection)
    ours, theirs = statistics.median(shipped), statistics.median(copied)
    print(f"{searches:,} searches of 10 hits, median of {rounds} rounds\n")
    print(f"{'shipped from the journal':28}{ours:10,.0f} searches/s")
    print(f"{'raw COPY of the same rows':28}{theirs:10,.0f} searches/s")
    print(f"{'ratio':28}{ours / theirs:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dsn", help="a server to make a database on; default an embedded one of its own")
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.dsn:
        run(options.dsn, options.searches, options.rounds)
        return
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base,
        EmbeddedServer.acquire(Path(base)) as server,
    ):
        run(server.dsn, options.searches, options.rounds)


if __name__ == "__main__":
    main()
