"""Deliveries and assessments whose search is in another writer's journal: the order of arrival changes nothing."""

from __future__ import annotations

import pytest
from fix_pg import Database
from integration.shipping import World, balanced

from ragledger import Ledger
from ragledger.ids import new_id
from ragledger.measurement import Window, measure
from ragledger.model import AssessmentRecord, DeliveryRecord, SearchRecord
from ragledger.testing import make_search

pytestmark = pytest.mark.pg


def what_came_later(search: SearchRecord) -> list[DeliveryRecord | AssessmentRecord]:
    ids = {"search_id": search.search_id}
    return [
        DeliveryRecord(
            **ids, delivery_id=new_id(), by="application", hit_ranks=(2, 1), scores=None, delivered_at=1
        ),
        AssessmentRecord(
            **ids,
            assessment_id=new_id(),
            name="coverage",
            value=0.5,
            method=None,
            weights=None,
            assessed_at=1,
        ),
    ]


@pytest.mark.parametrize("search_first", [True, False], ids=["search first", "search last"])
def test_p5_two_writers_in_either_order(world: World, search_first: bool) -> None:
    search = make_search("a", "b", candidate_count=2, admitted_count=2)
    searcher, knower = world.journal(), world.journal()
    if search_first:
        searcher.put(search)
        world.ship()
    for record in what_came_later(search):
        knower.put(record)
    world.ship()
    if not search_first:
        assert world.rejected() == {}
        searcher.put(search)
        world.ship()

    assert world.rejected() == {}
    assert world.database.rows("SELECT hit_ranks FROM deliveries JOIN searches USING (search_id)") == [
        ([2, 1],)
    ]
    assert world.database.value("SELECT value FROM assessments JOIN searches USING (search_id)") == 0.5
    total = balanced(world.database, world.directory)
    assert (total.written, total.pending, total.rejected) == (3, 0, 0)
    with world.database.connect() as connection:
        assert measure(connection, Window()).precision.order.delivered == 1


def test_a_delivery_without_its_search_is_in_no_measure(world: World) -> None:
    journal = world.journal()
    journal.put(make_search("a", candidate_count=1, admitted_count=1))
    for record in what_came_later(make_search("b")):
        journal.put(record)
    world.ship()

    with world.database.connect() as connection:
        found = measure(connection, Window())
    assert (found.searches.searches, found.precision.order.delivered) == (1, 0)


def test_a_ledger_may_deliver_what_another_process_searched(ledger: Ledger, database: Database) -> None:
    search_id = new_id()
    assert ledger.deliver(search_id, [1]).status == "journalled"
    assert ledger.assess(search_id, "confidence", 0.9).status == "journalled"
    assert ledger.flush()
    assert database.value("SELECT count(*) FROM rejected") == 0
