"""A table that rows arrive in as a shipper brings them: with their number, in one transaction with the watermark."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
from fix_pg import Database
from measures.table_rows import TableRows, _insert
from psycopg.types.json import Jsonb

from ragledger_collector import Collector, Passed, Verified, verify

ROLLUPS = (
    *("rollup_searches", "rollup_latency", "rollup_words", "rollup_judged", "rollup_shown", "rollup_votes"),
    *(
        "rollup_latency_parts",
        "rollup_document_days",
        "rollup_documents",
        "rollup_corpus_days",
        "rollup_corpora",
    ),
    *("rollup_inventories", "epochs"),
)
_BOOKKEEPING = (
    *("rollup_series", "rollup_arrivals", "rollup_dirty", "rollup_dirty_days", "rollup_dirty_corpora"),
    "rollup_sealed",
)
_NOT_HASHABLE = {
    "epochs": "SELECT project, epoch, searches, weights::text FROM epochs",
    "rollup_latency_parts": "SELECT grain, project, bucket, part, searches, bins::text FROM rollup_latency_parts",
}


def arrive(connection: psycopg.Connection[Any], rows: TableRows) -> None:
    """Inserts what `rows` holds, and empties it. Numbers go up, per writer in one transaction with its rows."""
    with connection.transaction():
        for table, made in rows.rows.items():
            for row in made:
                values = {name: Jsonb(v) if isinstance(v, dict) else v for name, v in row.items()}
                connection.execute(_insert(table, list(values)), values)
                if "writer_seq" in row:
                    land(connection, row["writer_id"], row["writer_seq"])
            made.clear()


def land(connection: psycopg.Connection[Any], writer: UUID, number: int) -> None:
    connection.execute(
        "INSERT INTO writers AS w (writer_id, project, host, pid, started_at, landed)"
        " VALUES (%s, 'p', 'h', 1, now(), int8multirange(int8range(%s, %s, '[]')))"
        " ON CONFLICT (writer_id) DO UPDATE SET landed = w.landed + excluded.landed",
        [writer, number, number],
    )


def collect(database: Database, **options: Any) -> Passed:
    """One pass, as the collector's role."""
    with database.connect(role="ragledger_collector") as connection:
        collector = Collector(connection, **options)
        collector.lock()
        return collector.run()


def verified(database: Database) -> Verified:
    with database.connect(role="ragledger_collector") as connection:
        return verify(connection)


def rollups(database: Database) -> dict[str, set[tuple[Any, ...]]]:
    """Every row of every rollup."""
    with database.connect() as connection:
        found = {
            table: set(connection.execute(f"SELECT * FROM {table}"))
            for table in ROLLUPS
            if table not in _NOT_HASHABLE
        }
        return found | {table: set(connection.execute(query)) for table, query in _NOT_HASHABLE.items()}


def forget(database: Database, *, everything: bool = False) -> None:
    """A database in which no collector ever ran; with `everything` an empty one."""
    raw = (
        *("feedback", "pending_feedback", "deliveries", "assessments", "hits", "searches", "writers"),
        "inventory",
    )
    with database.connect() as connection:
        for table in (*ROLLUPS, *_BOOKKEEPING, *(raw if everything else ())):
            connection.execute(f"DELETE FROM {table}")  # a TRUNCATE makes a file
