"""Many searches are measured on two connections, in one snapshot: the same numbers, and no more than a connection to lose."""

from __future__ import annotations

import threading

import psycopg
import pytest
from fix_pg import Database
from measures.every_case import everything_at_once

from ragledger import measurement
from ragledger.errors import DatabaseUnavailable
from ragledger.measurement import Measurement, Window, measure
from ragledger.measures import facts
from ragledger.postgres.connection import Connection, reading
from ragledger.postgres.snapshots import sharing
from ragledger.scoped import ScopeReader
from ragledger.side_by_side import Read, read_all

pytestmark = pytest.mark.pg


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "_MANY", 1)


def fill(database: Database) -> None:
    with database.connect() as connection:
        everything_at_once().insert(connection)


def measured(database: Database, **given: object) -> Measurement:
    with database.connect() as connection:
        return measure(connection, Window(), **given)  # type: ignore[arg-type]


def test_two_connections_measure_what_one_does_and_both_are_given_back(database: Database) -> None:
    fill(database)
    steps: list[int] = []
    made: list[Connection] = []

    def connect() -> Connection:
        made.append(database.connect())
        return made[-1]

    assert measured(database, connect=connect, step=steps.append) == measured(database)
    assert [connection.closed for connection in made] == [True]
    assert sum(steps) == measurement.STEPS


def test_without_a_second_connection_one_reads_it_all(database: Database) -> None:
    fill(database)

    def connect() -> Connection:
        raise DatabaseUnavailable("the server has no connection left")

    assert measured(database, connect=connect) == measured(database)


def test_a_second_connection_that_leads_elsewhere_is_not_used(
    database: Database, empty_database: Database
) -> None:
    fill(database)
    assert measured(database, connect=empty_database.connect) == measured(database)


def test_both_see_what_the_first_one_saw(database: Database) -> None:
    fill(database)
    with database.connect() as connection, reading(connection):
        before = connection.execute("SELECT count(*) FROM feedback").fetchone()
        with database.connect() as another:
            another.execute("DELETE FROM feedback")
        with sharing(connection, database.connect) as other:
            assert other is not None
            assert other.execute("SELECT count(*) FROM feedback").fetchone() == before
    assert database.value("SELECT count(*) FROM feedback") == 0


@pytest.mark.parametrize("broken", ["here", "beside"])
def test_what_fails_on_one_connection_is_raised_and_ends_both(database: Database, broken: str) -> None:
    """Both have a query that takes an hour, but for the one that breaks first."""
    fill(database)
    both = threading.Barrier(2)

    class Slow(ScopeReader):
        def all(self, *_: object, **__: object) -> list[facts.ShownFact]:  # type: ignore[override]
            both.wait(30)
            where = "here" if threading.current_thread() is threading.main_thread() else "beside"
            self.connection.execute("SELECT 1/0" if where == broken else _LONG[broken])
            return []

    with database.connect() as one, database.connect() as two:
        read = Read("measure", "shown", facts.ShownFact)
        readers = [Slow(connection, Window(), "relevant") for connection in (one, two)]
        with pytest.raises((psycopg.errors.DivisionByZero, psycopg.errors.QueryCanceled)):
            read_all([read] * 50, *readers, step=lambda _: None)
        assert not one.closed


_LONG = {"here": "SELECT pg_sleep(3600)", "beside": "SELECT pg_sleep(0.1)"}
"""The caller's thread cancels the other one; that one lets the caller's end its query."""
