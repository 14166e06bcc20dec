"""K11: what a search writes into a shared configuration is no weight, and changes no row."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from ragledger.testing import MemoryLedger
from ragledger_langchain import observe


class Hybrid(InMemoryVectorStore):
    """As langchain-postgres 0.0.19: the first query stays in the configuration that all searches share."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        config = kwargs.get("hybrid_search_config", {})
        config.setdefault("fts_query", query)
        config.setdefault("fusion_function_parameters", {})["fetch_top_k"] = k
        return super().similarity_search(query, k)


@pytest.mark.parametrize("where", ["search_kwargs", "the call"])
def test_d51_a_query_that_a_store_keeps_in_its_configuration_is_in_no_weights(
    memory_ledger: MemoryLedger, where: str
) -> None:
    config: dict[str, Any] = {"primary_top_k": 4}
    store = Hybrid.from_texts(["one", "two"], DeterministicFakeEmbedding(size=4))
    given = {"hybrid_search_config": config}
    kept = given if where == "search_kwargs" else {}
    retriever = observe(store.as_retriever(search_kwargs={"k": 2, **kept}), memory_ledger)
    for query in ("CANARY-1", "CANARY-2"):
        retriever.invoke(query, **({} if kept else given))
    assert config["fts_query"] == "CANARY-1"
    first, second = memory_ledger.searches
    assert "CANARY" not in first.weights + second.weights
    assert first.weights == second.weights
    assert first.epoch == second.epoch
    assert json.loads(first.weights)["effective"]["k"] == 2
