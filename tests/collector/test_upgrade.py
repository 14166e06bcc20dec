"""Rollups that were counted before there were these of them are complete after the upgrade."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collector_world import arrive, collect, rollups, verified
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

from ragledger import schema
from ragledger.removal import retain

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
