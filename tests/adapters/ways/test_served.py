"""A cached answer makes no search; shown again it can be recorded, and voted on."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.langchain.world import Listed, Table, documents
from adapters.llama_index.doubles import ListRetriever, scored
from adapters.ways.graphs import graph_of

import ragledger
from ragledger import Candidate, HitNotReturned, Ledger, MalformedReference
from ragledger.ids import new_id
from ragledger_langchain import observe

pytestmark = pytest.mark.pg


def test_a_cached_node_makes_no_row_and_what_it_shows_can_be_recorded(ledger: Ledger, table: Table) -> None:
    from langgraph.cache.memory import InMemoryCache
    from langgraph.types import CachePolicy

    retriever = observe(Listed(found=documents("a", "b")), ledger, corpus="handbook")

    def node(state: Any) -> Any:
        with ragledger.capture() as receipts:
            found = retriever.invoke(state["q"])
        return {"found": (receipts[0].search_id, [document.id for document in found])}

    graph = graph_of(node, cache=InMemoryCache(), cache_policy=CachePolicy())

    def answered() -> tuple[Any, list[Any]]:
        with ragledger.capture() as receipts:
            return graph.invoke({"q": "q"})["found"], receipts

    (search_id, chunks), receipts = answered()
    assert receipts[0].search_id == search_id
    (again, shown), receipts = answered()
    assert (again, shown, receipts) == (search_id, chunks, [])
    assert len(table.searches()) == 1

    served = ledger.served(search_id, corpus="handbook", surface="study")
    assert served.hits == ((1, "a"), (2, "b"))
    ledger.vote(served.search_id, "b", "relevant", actor="human:ana")
    with pytest.raises(HitNotReturned):
        ledger.vote(served.search_id, "c", "relevant")
    row = table.searches()[1]
    assert (row["served_from"], row["depth"], row["status"]) == (search_id, 0, "ok")
    assert (row["surface"], row["admitted_count"], row["latency_ms"]) == ("study", 2, None)
    assert [hit["chunk_id"] for hit in table.hits(row)] == ["a", "b"]
    assert ledger.facts()["faults"] == {}


def test_a_receipt_is_enough_for_either_framework(ledger: Ledger, table: Table, manager: Any) -> None:
    with ragledger.capture() as receipts:
        observe(Listed(found=documents("a")), ledger).invoke("q")
        ListRetriever(scored(("b", 0.5)), callback_manager=manager).retrieve("q")
    assert [ledger.served(receipt).hits for receipt in receipts] == [((1, "a"),), ((1, "b"),)]
    rows = table.searches()
    assert [row["served_from"] for row in rows[2:]] == [row["search_id"] for row in rows[:2]]


def test_what_is_not_known_is_not_invented(ledger: Ledger, table: Table) -> None:
    """Another process made the search, or its retriever never told: the counts are null, not 0."""
    with ledger.search() as untold:
        pass
    elsewhere = new_id()
    assert ledger.served(untold.receipt).hits == ()
    assert ledger.served(elsewhere).hits == ()
    assert ledger.served(str(elsewhere), hits=[(1, "a")]).hits == ((1, "a"),)
    ledger.served(elsewhere, hits=[])
    rows = table.searches()[1:]
    assert [row["admitted_count"] for row in rows] == [None, None, 1, 0]
    assert [row["served_from"] for row in rows[1:]] == [elsewhere] * 3
    with pytest.raises(MalformedReference):
        ledger.served("yesterday")


def test_p6_an_answer_whose_search_was_refused_is_no_search_of_its_own(ledger: Ledger, table: Table) -> None:
    receipt = ragledger.Receipt(search_id=None, status="refused", reason="cap", hits=((1, "a"),))
    again = ledger.served(receipt)
    assert (again.search_id, again.status, again.hits) == (None, "refused", ())
    assert table.searches() == []


def test_what_is_served_has_no_latency_by_hand_either(ledger: Ledger, table: Table) -> None:
    with ledger.search(served_from=new_id()) as search:
        search.candidates(Candidate("a"))
    assert table.one()["latency_ms"] is None
