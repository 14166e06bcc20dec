"""A pass is a row of steps: it may be stopped after any of them, and it ends also while its world goes on."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest
from collector_world import arrive, collect, verified
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

from ragledger_collector import Collector

pytestmark = pytest.mark.pg

_LEFT = {
    "records": "SELECT 6 - coalesce(sum(upper(r) - lower(r)), 0) FROM rollup_arrivals, unnest(landed) AS r",
    "minutes": "SELECT count(DISTINCT (project, bucket)) FROM rollup_dirty",
    "days": "SELECT count(*) FROM rollup_dirty_days",
    "corpora": "SELECT count(*) FROM rollup_dirty_corpora",
}


@pytest.fixture
def arrived(database: Database) -> Database:
    """Two projects that share three corpora, on three days."""
    rows = TableRows()
    for number in range(6):
        day, project = divmod(number, 2)
        rows.search(
            hit(document_id=f"d{number}"),
            project=f"p{project}",
            corpus=f"c{day}",
            started_at=START + timedelta(days=day),
        )
    with database.connect() as connection:
        connection.execute(
            "INSERT INTO inventory (corpus, document_id) SELECT 'c' || n, 'd' FROM generate_series(0, 2) n"
        )
        arrive(connection, rows)
    return database


@pytest.mark.parametrize("kind", _LEFT)
def test_a_pass_that_is_stopped_ends_after_the_step_at_hand(arrived: Database, kind: str) -> None:
    left = [0]

    def step(_: int) -> None:
        left.append(arrived.value(_LEFT[kind]))

    with arrived.connect(role="ragledger_collector") as connection:
        collector = Collector(connection, numbers=1, minutes=1)
        collector.lock()
        collector.run(step=step, stopped=lambda: kind == "records" or left[-1] < max(left))
    assert arrived.value(_LEFT[kind]) == left[-1] == 5
    collect(arrived)
    found = verified(arrived)
    assert (found.differing, found.waiting, found.waiting_days, found.waiting_corpora) == ((), 0, 0, 0)


def test_an_inventory_that_is_written_all_the_time_holds_no_pass_up(arrived: Database) -> None:
    numbers = count()
    with arrived.connect() as application, arrived.connect(role="ragledger_collector") as connection:

        def write(_: int) -> None:
            assert next(numbers) < 30, "this pass never ends"
            application.execute(
                "INSERT INTO inventory (corpus, document_id) VALUES ('c0', gen_random_uuid()::text)"
            )

        collector = Collector(connection)
        collector.lock()
        collector.run(step=write)
    assert verified(arrived).waiting_corpora > 0
    collect(arrived)
    found = verified(arrived)
    assert (found.differing, found.waiting_corpora) == ((), 0)
