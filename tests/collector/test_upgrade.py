"""Rollups that were counted before there were these of them are complete after the upgrade."""

from __future__ import annotations

import subprocess
from datetime import timedelta

import pytest
from collector_world import arrive, collect, rollups, verified
from fix_pg import Database
from integration.shipping import RAGLEDGER
from measures.table_rows import START, TableRows, hit

from ragledger import SchemaError, schema
from ragledger.errors import CollectorBusy
from ragledger.removal import retain
from ragledger_collector import Collector, arrivals

pytestmark = pytest.mark.pg

# As a collector of version 5 left them.
_BEFORE = """
DROP TABLE rollup_latency_parts, rollup_corpus_days, rollup_corpora, rollup_inventories, rollup_dirty_corpora;
ALTER TABLE rollup_documents DROP COLUMN first_day;
DELETE FROM schema_migrations WHERE version >= 6
"""


@pytest.mark.parametrize("sealed", [False, True])
def test_p11_what_was_counted_before_is_in_the_new_rollups(database: Database, *, sealed: bool) -> None:
    rows = TableRows()
    for number in range(60):
        of = rows.search(
            hit(document_id=f"d{number % 9}"),
            started_at=START + timedelta(hours=number),
            corpus=("handbook", None)[number % 2],
            project=("default", "shop")[number % 7 > 3],
            surface=("study", "agent")[number % 5 > 2],
            latency_ms=number * 1.7,
        )
        if number % 3:
            rows.vote(of, 1, "relevant")
    with database.connect() as connection:
        connection.execute(
            "INSERT INTO inventory (corpus, document_id) VALUES ('handbook', 'd1'), ('handbook', 'd99')"
        )
        arrive(connection, rows)
    collect(database)
    before = rollups(database)
    with database.connect() as connection:
        if sealed:
            list(retain(connection, START + timedelta(hours=30)))
        connection.execute(_BEFORE)
        assert schema.apply(connection, "ragledger").applied == (6,)
    found = verified(database)
    assert (found.differing, found.waiting_corpora) == ((), 2)
    collect(database)
    assert rollups(database) == before
    found = verified(database)
    assert (found.differing, found.waiting, found.waiting_days, found.waiting_corpora) == ((), 0, 0, 0)


def init(database: Database) -> subprocess.CompletedProcess[str]:
    command = [*RAGLEDGER, "init", "--dsn", database.dsn]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.processes
@pytest.mark.parametrize("lock", ["lock", "join"])
def test_a_schema_does_not_change_under_a_collector_at_work(database: Database, lock: str) -> None:
    """Nor under a session that helps one that is gone."""
    with database.connect() as owner:
        owner.execute(_BEFORE)
    with database.connect(role="ragledger_collector") as collector:
        assert collector.execute(arrivals.query(lock)).fetchone() == (True,)
        refused = init(database)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "`ragledger collect` is at work in this schema" in refused.stderr
    assert "stop it" in refused.stderr
    assert database.value("SELECT max(version) FROM schema_migrations") == 5
    assert database.value("SELECT to_regclass('rollup_latency_parts')") is None
    done = init(database)
    assert (done.returncode, done.stderr) == (0, "")
    assert verified(database).differing == ()


def test_what_changes_no_schema_asks_for_no_collector(database: Database, empty_database: Database) -> None:
    for one, applied in ((database, 0), (empty_database, schema.latest_version())):
        with one.connect() as collector, one.connect() as owner:
            collector.execute("SELECT pg_advisory_lock(1919903853, hashtext('ragledger'))")
            assert len(schema.apply(owner, "ragledger").applied) == applied


def test_no_collector_starts_while_the_schema_changes_nor_works_in_one_newer_than_itself(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = (*schema.migrations(), (99, "of the future", "CREATE TABLE future ()"))
    with database.connect() as owner, database.connect(role="ragledger_collector") as session:
        with owner.transaction():
            with monkeypatch.context() as future:
                future.setattr(schema, "migrations", lambda: newer)
                assert schema.apply(owner, "ragledger").applied == (99,)
            with pytest.raises(CollectorBusy):
                Collector(session).lock()
        with pytest.raises(SchemaError, match="newer than this release"):
            Collector(session).lock()
