"""Two ledgers, one of a retriever and one of the store below it: lineage is each ledger's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from adapters.langchain.world import Calling, vector_store

from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe, observe_store


@pytest.fixture
def ledgers() -> Iterator[tuple[MemoryLedger, MemoryLedger]]:
    with memory_ledger(name="first") as first, memory_ledger(name="second") as second:
        yield first, second
        assert first.guard.faults == second.guard.faults == {}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("scores", [False, True])
def test_p10_a_store_below_a_retriever_of_another_ledger_is_a_root_there(
    ledgers: tuple[MemoryLedger, MemoryLedger], asynchronous: bool, scores: bool
) -> None:
    first, second = ledgers
    store = observe_store(vector_store(), second)
    retriever = observe(store.as_retriever(search_kwargs={"k": 3}), first, scores=scores)
    if asynchronous:
        asyncio.run(retriever.ainvoke("q"))
    else:
        retriever.invoke("q")
    above, below = first.row, second.row
    assert (above.retriever, above.depth, above.admitted_count) == ("VectorStoreRetriever", 0, 3)
    assert (below.retriever, below.depth, below.parent_id) == ("Relevant", 0, None)
    assert below.root_id == below.search_id
    assert (above.vector_available, below.vector_available) == (True, True)
    assert [hit.chunk_id for hit in below.hit_rows] == [hit.chunk_id for hit in above.hit_rows]
    assert None not in [hit.score for hit in below.hit_rows]
    heard = [hit.score for hit in above.hit_rows]
    assert heard == ([hit.score for hit in below.hit_rows] if scores else [None] * 3)


def test_p10_a_store_of_both_ledgers_retrievers_is_one_row_in_each(
    ledgers: tuple[MemoryLedger, MemoryLedger],
) -> None:
    first, second = ledgers
    store = observe_store(vector_store(), second)
    inner = observe(store.as_retriever(), first)
    observe(Calling(body=inner.invoke), second).invoke("q")
    assert [(row.retriever, row.depth) for row in first.searches] == [("VectorStoreRetriever", 0)]
    assert [(row.retriever, row.depth) for row in second.searches] == [("Relevant", 1), ("Calling", 0)]
