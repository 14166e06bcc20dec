"""A second connection that sees exactly what a first one sees, so that two cores of the server read for one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from ragledger.errors import RagledgerError

from .connection import Connection

__all__ = ["sharing"]


@contextmanager
def sharing(connection: Connection, connect: Callable[[], Connection]) -> Iterator[Connection | None]:
    """Another connection in the snapshot of the transaction that `connection` is in, as `reading` begins one.

    None where none can be had: no connection is left, or it leads to another server of the dsn.
    """
    row = connection.execute("SELECT pg_export_snapshot()").fetchone()
    other = _within(str(row[0]), connect) if row else None
    try:
        yield other
    finally:
        if other is not None:
            other.close()


def _within(snapshot: str, connect: Callable[[], Connection]) -> Connection | None:
    try:
        other = connect()
    except RagledgerError:
        return None
    try:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        other.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(snapshot))
    except psycopg.Error:
        other.close()
        return None
    return other
