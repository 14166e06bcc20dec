"""COPY in turn: the server gets nothing before all rows are made, and nothing where they cannot be made."""

from __future__ import annotations

import psycopg
import pytest
from fix_pg import Database

from ragledger.postgres.turns import InTurn

pytestmark = pytest.mark.pg

ROWS = 100_000
COPY = "COPY numbers FROM STDIN (FORMAT BINARY)"
SEEN = "SELECT max(tuples_processed) FROM pg_stat_progress_copy"


@pytest.fixture
def table(empty_database: Database) -> Database:
    with psycopg.connect(empty_database.dsn) as connection:
        connection.execute("CREATE TABLE numbers (n int8)")
    return empty_database


def test_the_server_rests_while_rows_are_made(table: Database) -> None:
    with (
        psycopg.connect(table.dsn) as connection,
        psycopg.connect(table.dsn, autocommit=True) as other,
        connection.cursor() as cursor,
    ):
        with cursor.copy(COPY, writer=InTurn(cursor)) as copy:
            copy.set_types(["int8"])
            for number in range(ROWS):
                copy.write_row((number,))
            assert other.execute(SEEN).fetchone() == (0,)
        assert cursor.rowcount == ROWS
    with psycopg.connect(table.dsn) as connection:
        assert connection.execute("SELECT count(*), sum(n) FROM numbers").fetchone() == (
            ROWS,
            sum(range(ROWS)),
        )


def test_rows_that_cannot_be_made_leave_nothing_and_the_connection_works(table: Database) -> None:
    with psycopg.connect(table.dsn, autocommit=True) as connection, connection.cursor() as cursor:
        with pytest.raises(TypeError), cursor.copy(COPY, writer=InTurn(cursor)) as copy:
            copy.set_types(["int8"])
            for number in range(ROWS):
                copy.write_row((number,))
            copy.write_row(("no number",))
        assert connection.execute("SELECT count(*) FROM numbers").fetchone() == (0,)
