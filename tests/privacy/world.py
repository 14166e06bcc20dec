"""Both frameworks, doing all that can be done to a search, with a canary in every text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from privacy.canaries import CHUNK, ERROR, FILTER, META, QUERY

import ragledger
from ragledger import Ledger


async def langchain_searches(ledger: Ledger) -> None:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore

    from ragledger_langchain import observe

    class Failing(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            raise LookupError(f"{ERROR} for {query} with {FILTER}")

    class Slow(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            raise NotImplementedError

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            await asyncio.sleep(60)
            return []

    class Degraded(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            ragledger.current().degrade("embedding_unavailable", vector_available=False)
            return [Document(f"{CHUNK} of {query}", metadata={"note": META, META: 1})]

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    store.add_texts([f"{CHUNK} {n}" for n in range(3)], metadatas=[{"note": META, META: n} for n in range(3)])
    wanted = {"k": 2, "filter": lambda document: FILTER not in document.page_content}
    plain = observe(store.as_retriever(search_kwargs=wanted), ledger, corpus="handbook")
    members: list[Any] = [observe(store.as_retriever(), ledger), observe(Degraded(), ledger)]
    ensemble = observe(EnsembleRetriever(retrievers=members, weights=[0.5, 0.5]), ledger)

    with ragledger.capture() as receipts:
        plain.invoke(QUERY)
    await plain.ainvoke(QUERY, config={"metadata": {"note": META}, "tags": [META], "run_name": META})
    plain.batch([QUERY, f"{QUERY} again"])
    ensemble.invoke(QUERY)
    await ensemble.ainvoke(QUERY)
    observe(Degraded(), ledger).invoke(QUERY)
    with pytest.raises(LookupError):
        observe(Failing(), ledger).invoke(QUERY)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(observe(Slow(), ledger).ainvoke(QUERY), 0.05)
    _vote(ledger, receipts[0])


async def llama_index_searches(ledger: Ledger) -> None:
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

    from ragledger_llama_index import LedgerCallbackHandler

    class Failing(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise LookupError(f"{ERROR} for {query_bundle.query_str} with {FILTER}")

    class Slow(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise NotImplementedError

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            await asyncio.sleep(60)
            return []

    class Degraded(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            ragledger.current().degrade("embedding_unavailable", vector_available=False)
            return [
                NodeWithScore(
                    node=TextNode(id_="n9", text=CHUNK, metadata={"note": META, META: 1}), score=0.5
                )
            ]

    manager = CallbackManager([LedgerCallbackHandler(ledger)])
    nodes = [TextNode(id_=f"n{n}", text=f"{CHUNK} {n}", metadata={"note": META, META: n}) for n in range(3)]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4), callback_manager=manager)
    filters = MetadataFilters(filters=[ExactMatchFilter(key="note", value=META)])
    plain = index.as_retriever(similarity_top_k=2)
    fusion = QueryFusionRetriever(
        [plain, Degraded(callback_manager=manager)],
        llm=MockLLM(),
        num_queries=1,
        use_async=False,
        callback_manager=manager,
    )

    with ragledger.capture() as receipts:
        plain.retrieve(QUERY)
    await plain.aretrieve(QUERY)
    index.as_retriever(filters=filters).retrieve(QUERY)
    fusion.retrieve(QUERY)
    await fusion.aretrieve(QUERY)
    Degraded(callback_manager=manager).retrieve(QUERY)
    with pytest.raises(LookupError):
        Failing(callback_manager=manager).retrieve(QUERY)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(Slow(callback_manager=manager).aretrieve(QUERY), 0.05)
    _vote(ledger, receipts[0])


def _vote(ledger: Ledger, receipt: ragledger.Receipt) -> None:
    assert receipt.search_id is not None
    ledger.vote(receipt.search_id, rank=receipt.hits[0][0], outcome="relevant", actor="human:ana")
