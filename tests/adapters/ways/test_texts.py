"""Both adapters hand over what was asked and what was found, by rank, where `store_text` is on; and nothing else is read."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever as LlamaRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery, VectorStoreQueryResult

from ragledger.model import TextsRecord
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe
from ragledger_langchain import observe_store as observe_langchain_store
from ragledger_llama_index import LedgerCallbackHandler, observe_store


def texts(ledger: MemoryLedger) -> list[list[tuple[int, str | None]]]:
    records = [record for record in ledger.backend.records if isinstance(record, TextsRecord)]
    return [[(text.rank, text.text) for text in record.texts] for record in records]


def test_langchain_hands_over_texts() -> None:
    class Listed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            if query == "fail":
                raise LookupError
            same = Document("a text", id="a", metadata={"note": "meta"})
            return [same, same, Document("b text", id="b")]

    with memory_ledger(store_text=True) as ledger:
        retriever = observe(Listed(), ledger)
        retriever.invoke("asked")
        with pytest.raises(LookupError):
            retriever.invoke("fail")
    assert texts(ledger) == [[(0, "asked"), (1, "a text"), (3, "b text")], [(0, "fail")]]
    assert [hit.rank for hit in ledger.hits] == [1, 3]


def test_langchain_store_asked_directly_hands_over_texts() -> None:
    with memory_ledger(store_text=True) as ledger:
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
        store.add_texts(["a text"])
        observe_langchain_store(store, ledger)
        store.similarity_search("asked", k=1)
        store.similarity_search_with_score("scored", k=1)
    assert texts(ledger) == [[(0, "asked"), (1, "a text")], [(0, "scored"), (1, "a text")]]


def test_llama_index_hands_over_texts() -> None:
    class Listed(LlamaRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            if query_bundle.query_str == "fail":
                raise LookupError
            return [
                NodeWithScore(
                    node=TextNode(id_=name, text=f"{name} text", metadata={"note": "meta"}), score=0.5
                )
                for name in "ab"
            ]

    with memory_ledger(store_text=True) as ledger:
        retriever = Listed(callback_manager=CallbackManager([LedgerCallbackHandler(ledger)]))
        retriever.retrieve("asked")
        with pytest.raises(LookupError):
            retriever.retrieve("fail")
    assert texts(ledger) == [[(0, "asked"), (1, "a text"), (2, "b text")], [(0, "fail")]]


class Stored(SimpleVectorStore):
    """Gives nodes with their texts, as most stores do; the simple one gives ids alone."""

    stores_text: bool = True

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        if query.query_str == "fail":
            raise LookupError
        return VectorStoreQueryResult(nodes=[TextNode(id_="a", text="a text")], similarities=[0.5], ids=["a"])


def test_llama_index_store_asked_directly_hands_over_texts() -> None:
    with memory_ledger(store_text=True) as ledger:
        store = observe_store(Stored(), ledger)
        store.query(VectorStoreQuery(query_str="asked", similarity_top_k=1))
        with pytest.raises(LookupError):
            store.query(VectorStoreQuery(query_str="fail", similarity_top_k=1))
        ids_only = observe_store(SimpleVectorStore(), ledger)
        ids_only.add([TextNode(id_="a", text="a text", embedding=[1.0, 0.0])])
        ids_only.query(VectorStoreQuery(query_embedding=[1.0, 0.0], query_str="ids", similarity_top_k=1))
    assert texts(ledger) == [[(0, "asked"), (1, "a text")], [(0, "fail")], [(0, "ids")]]


class Unreadable(TextNode):
    def get_content(self, metadata_mode: Any = None) -> str:
        raise LookupError


def test_a_node_whose_text_cannot_be_had_costs_the_others_nothing() -> None:
    class Listed(LlamaRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(node=kind(id_=kind.__name__, text="text")) for kind in (Unreadable, TextNode)
            ]

    with memory_ledger(store_text=True, strict=False) as ledger:
        Listed(callback_manager=CallbackManager([LedgerCallbackHandler(ledger)])).retrieve("asked")
        assert ledger.guard.faults == {"llama_index.text": 1}
    assert texts(ledger) == [[(0, "asked"), (2, "text")]]
