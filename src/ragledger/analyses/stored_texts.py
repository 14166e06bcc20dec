"""Reading `search_texts`, which neither the collector nor anybody else reads in passing: as its own role, or with the
user's own rights.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import sql

from ragledger.postgres.connection import Connection, acting_as, may_act_as
from ragledger.schema import TEXTS
from ragledger.sql import named_queries

__all__ = ["as_reader_of_texts", "may_read_texts"]


@contextmanager
def as_reader_of_texts(connection: Connection) -> Iterator[None]:
    """Inside a transaction: for the block, the session has the rights to texts that its user has."""
    before = acting_as(connection)
    role = sql.Identifier(TEXTS) if may_act_as(connection, TEXTS) else sql.SQL("NONE")
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(role))
    yield
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(before)))


def may_read_texts(connection: Connection) -> bool:
    """Whether it has them. Only where there is such a table."""
    with as_reader_of_texts(connection):
        row = connection.execute(named_queries("whose")["may_read_texts"]).fetchone()
    return bool(row and row[0])
