"""A hybrid search of a store that one ledger observes, below a retriever that another does: both hear its halves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_postgres", reason="needs langchain-postgres")

from adapters.langchain.test_pg_store import _hybrid, make_store, url

from ragledger.testing import memory_ledger
from ragledger_langchain import observe, observe_store

__all__ = ["make_store", "url"]

pytestmark = pytest.mark.pg


@pytest.mark.parametrize("asynchronous", [False, True])
def test_p10_both_ledgers_have_a_root_with_the_scores_of_both_halves(
    make_store: Any, asynchronous: bool
) -> None:
    store = make_store(hybrid_search_config=_hybrid())
    with memory_ledger(name="first") as first, memory_ledger(name="second") as second:
        retriever = observe(observe_store(store, second).as_retriever(), first)
        if asynchronous:
            asyncio.run(retriever.ainvoke("running"))
        else:
            retriever.invoke("running")
        above, below = first.row, second.row
        assert (above.retriever, above.depth) == ("VectorStoreRetriever", 0)
        assert (below.retriever, below.depth, below.parent_id) == ("PGVectorStore", 0, None)
        heard = [
            [(hit.chunk_id, hit.vector_score, hit.lexical_score, hit.signals) for hit in row.hit_rows]
            for row in (above, below)
        ]
        assert heard[0] == heard[1]
        assert {"primary", "secondary"} <= set(above.signals or {})
        assert first.guard.faults == second.guard.faults == {}
