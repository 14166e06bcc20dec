"""precision@k is of the order that reached the prompt."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, scored
from adapters.llama_index.zoo import scripted
from llama_index.core.postprocessor import LLMRerank
from llama_index.core.query_engine import RetrieverQueryEngine

import ragledger
from ragledger.measurement import Window, measure

pytestmark = pytest.mark.pg


@pytest.mark.parametrize(("reranked", "expected"), [(False, 0.0), (True, 1.0)])
def test_precision_is_of_the_delivered_order(ledger, manager, database, reranked, expected):
    retriever = ListRetriever(scored(("a", 0.9), ("b", 0.5), ("c", 0.4)), callback_manager=manager)
    reranker = LLMRerank(llm=scripted("Doc: 3, Relevance: 9\nDoc: 1, Relevance: 2"), top_n=2)
    engine = RetrieverQueryEngine.from_args(retriever, node_postprocessors=[reranker] if reranked else [])
    with ragledger.capture() as receipts:
        engine.query("q")
    [receipt] = receipts
    ledger.vote(receipt.search_id, "a", "not_relevant", actor="human:ana")
    ledger.vote(receipt.search_id, "c", "relevant", actor="human:ana")
    assert ledger.flush(60)
    delivered = database.rows("SELECT by, hit_ranks, scores FROM deliveries")
    assert delivered == ([("reranker", [3, 1], [9.0, 2.0])] if reranked else [])
    with database.connect() as connection:
        found: Any = measure(connection, Window())
    at_1 = found.precision.overall["human"].at
    assert (found.precision.order.delivered, found.precision.order.retriever) == (
        int(reranked),
        int(not reranked),
    )
    first = at_1["1"] if "1" in at_1 else at_1[1]
    assert first.precision == expected
