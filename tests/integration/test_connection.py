"""Opening a session, and checking votes over one: what the dsn says is kept, and nothing takes for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database
from privacy.refusing import refusing_server
from psycopg.conninfo import make_conninfo

from ragledger import Candidate, DatabaseUnavailable, Ledger
from ragledger.ids import new_id
from ragledger.postgres.connection import connect, reading
from ragledger.postgres.lookup import PostgresLookup

pytestmark = pytest.mark.pg


def _shown(dsn: str, *names: str, statement_timeout_s: float = 30.0) -> list[str]:
    with connect(dsn, "ragledger", statement_timeout_s=statement_timeout_s) as connection:
        rows = [connection.execute(f"SHOW {name}").fetchone() for name in names]
    return [str(row[0]) for row in rows if row is not None]


def test_a_session_is_bounded_and_looks_into_the_schema(database: Database) -> None:
    shown = _shown(
        database.dsn, "search_path", "statement_timeout", "application_name", statement_timeout_s=1.5
    )

    assert shown == ['"ragledger"', "1500ms", "ragledger"]


def test_what_the_dsn_says_of_the_session_is_kept(database: Database) -> None:
    """Some hosted servers route by `options`."""
    dsn = make_conninfo(database.dsn, options="-c work_mem=5MB -c lock_timeout=7s", application_name="shop")

    assert _shown(dsn, "work_mem", "lock_timeout", "application_name") == ["5MB", "7s", "shop"]


def test_a_statement_that_takes_too_long_is_ended(database: Database) -> None:
    with (
        connect(database.dsn, "ragledger", statement_timeout_s=0.05) as connection,
        pytest.raises(psycopg.errors.QueryCanceled),
    ):
        connection.execute("SELECT pg_sleep(60)")


def test_a_report_reads_one_snapshot_and_writes_nothing(database: Database) -> None:
    with database.connect() as connection, reading(connection):
        connection.execute("SELECT count(*) FROM searches")
        with database.connect() as other:
            other.execute("INSERT INTO inventory (corpus, document_id) VALUES ('c', 'd')")
        assert connection.execute("SELECT count(*) FROM inventory").fetchone() == (0,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), connection.transaction():
            connection.execute("DELETE FROM inventory")


# --- checking votes ----------------------------------------------------------------------------------------


@pytest.fixture
def lookup(database: Database) -> Iterator[PostgresLookup]:
    made = PostgresLookup(database.dsn, "ragledger")
    yield made
    made.close()


@pytest.fixture
def search_id(ledger: Ledger) -> UUID:
    with ledger.search() as search:
        search.candidates(Candidate("a"), Candidate("b"), Candidate("c", admitted=False))
    assert ledger.flush()
    assert search.receipt.search_id is not None
    return search.receipt.search_id


def test_p7_what_the_search_returned_is_found_and_nothing_else(
    lookup: PostgresLookup, search_id: UUID
) -> None:
    assert lookup.find(search_id) == ((1, "a"), (2, "b"))  # `c` was not admitted
    assert lookup.find(new_id()) is None


def test_a_connection_that_was_cut_since_the_last_vote_costs_nothing(
    lookup: PostgresLookup, search_id: UUID, database: Database
) -> None:
    lookup.find(search_id)
    cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
    assert database.rows(f"{cut} AND query ILIKE '%%JOIN hits%%' AND pid <> pg_backend_pid()") == [(True,)]

    assert lookup.find(search_id) == ((1, "a"), (2, "b"))


def test_while_the_database_is_away_only_the_first_vote_asks_it() -> None:
    with refusing_server() as server:
        lookup = PostgresLookup(server.dsn("secret"), "ragledger")
        for _ in range(3):
            with pytest.raises(DatabaseUnavailable):
                lookup.find(new_id())

    assert server.given == ["secret"]


def test_a_vote_that_waits_for_a_lock_is_answered_as_unavailable(
    lookup: PostgresLookup, search_id: UUID, database: Database
) -> None:
    with database.connect() as blocker, blocker.transaction():
        blocker.execute("LOCK TABLE hits")
        with pytest.raises(DatabaseUnavailable, match="cannot be checked now"):
            lookup.find(search_id)


def test_a_vote_for_a_search_of_another_process_is_kept_while_the_schema_is_missing(
    empty_database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    ledger = make_ledger(dsn=empty_database.dsn, exit_drain_s=0.0)

    receipt = ledger.vote(new_id(), rank=1, outcome="relevant")
    assert receipt.status == "pending"
