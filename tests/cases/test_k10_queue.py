"""K10: a full queue is counted by reason, record by record, and costs neither memory nor the search."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from fix_pg import Database
from integration.shipping import World, balanced, wait_until

from ragledger import Candidate, Ledger

pytestmark = pytest.mark.pg
CANDIDATES = [Candidate(f"chunk-{number}" * 20, f"document-{number}", score=0.5) for number in range(40)]


def search(ledger: Ledger) -> Any:
    with ledger.search(corpus="c") as found:
        found.candidates(*CANDIDATES)
    return found.receipt


@pytest.fixture
def full(make_ledger: Callable[..., Ledger]) -> Ledger:
    """A journal of 1 MiB that nobody ships."""
    return make_ledger(journal_cap_mb=1, ship="sidecar", strict=False)


def test_p5_d41_every_search_is_counted_as_what_became_of_it(full: Ledger, database: Database) -> None:
    kept = 0
    for number in range(1, 401):
        receipt = search(full)
        kept += receipt.search_id is not None
        facts = full.facts()
        refused = facts["refused"].get("cap", 0)
        assert (receipt.status, receipt.reason) in {("journalled", None), ("refused", "cap")}
        assert facts["attempted"] == facts["published"] == kept
        assert kept + refused == number
    assert 0 < kept < 400
    assert full.facts()["faults"] == {"refused:cap": 400 - kept}
    world = World(database)
    world.ship()
    assert database.value("SELECT refused FROM writers") == {"cap": 400 - kept}
    assert balanced(database, world.directory)._replace(unfinished=0)[:2] == (400, kept)


def test_p5_d42_an_outage_costs_no_memory_and_ends_by_itself(full: Ledger, database: Database) -> None:
    for _ in range(500):
        search(full)
    refused = full.facts()["refused"]["cap"]
    gc.collect()
    tracemalloc.start()
    for _ in range(3000):
        search(full)
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 1_000_000
    assert full.facts()["refused"] == {"cap": refused + 3000}
    assert sum(path.stat().st_size for path in World(database).directory.glob("*.seg")) <= 1 << 20
    World(database).ship()  # the database is back, and somebody ships
    wait_until(lambda: search(full).status == "journalled")  # the directory is looked at again now and then
