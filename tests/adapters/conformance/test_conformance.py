"""One set of promises, run by every adapter and by own code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as ChainRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever as IndexRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ragledger import Candidate, Ledger
from ragledger.testing.conformance import AdapterConformance, Item, World
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler


class OwnCode(World):
    """`ledger.search` around a function."""

    framework = "application"
    knows_the_query = False

    def items(self, items: Sequence[Item]) -> Any:
        return [Candidate(item.chunk_id, item.document_id, score=item.score) for item in items]

    def retriever(self, ledger: Ledger | None, body: Callable[[str], Any]) -> Any:
        def search(query: str) -> Any:
            if ledger is None:
                return body(query)
            with ledger.search() as search:
                found = body(query)
                if not getattr(search, "scored", ()):  # the body may have handed over its own
                    search.candidates(*found)
                return found

        return search

    def search(self, retriever: Any, query: str) -> Any:
        return retriever(query)


class Chain(ChainRetriever):
    body: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return self.body(query)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return self.body(query)


class SlowChain(ChainRetriever):
    seconds: float

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return []

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        await asyncio.sleep(self.seconds)
        return []


class LangChain(World):
    framework = "langchain"

    def items(self, items: Sequence[Item]) -> Any:
        return [
            Document(
                id=item.chunk_id,
                page_content=item.text,
                metadata={"text": item.text}
                | ({"score": item.score} if item.score is not None else {})
                | ({"doc_id": item.document_id} if item.document_id else {}),
            )
            for item in items
        ]

    def retriever(self, ledger: Ledger | None, body: Callable[[str], Any]) -> Any:
        return Chain(body=body) if ledger is None else observe(Chain(body=body), ledger)

    def search(self, retriever: Any, query: str) -> Any:
        return retriever.invoke(query)

    async def asearch(self, retriever: Any, query: str) -> Any:
        return await retriever.ainvoke(query)

    def slow(self, ledger: Ledger, seconds: float) -> Any:
        return observe(SlowChain(seconds=seconds), ledger)


class Index(IndexRetriever):
    def __init__(self, body: Callable[[str], Any], **kwargs: Any) -> None:
        self.body = body
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: Any) -> Any:
        return self.body(query_bundle.query_str)


class SlowIndex(Index):
    async def _aretrieve(self, query_bundle: Any) -> Any:
        await asyncio.sleep(self.body("seconds"))


class LlamaIndex(World):
    framework = "llama_index"

    def items(self, items: Sequence[Item]) -> Any:
        return [self._node(item) for item in items]

    def _node(self, item: Item) -> NodeWithScore:
        source = RelatedNodeInfo(node_id=item.document_id) if item.document_id else None
        relations = {NodeRelationship.SOURCE: source} if source else {}
        node = TextNode(id_=item.chunk_id, text=item.text, relationships=relations)
        found = NodeWithScore(node=node)
        found.score = item.score  # unvalidated, as a postprocessor of an application would
        return found

    def retriever(self, ledger: Ledger | None, body: Callable[[str], Any]) -> Any:
        return Index(body, **self._managed(ledger))

    def _managed(self, ledger: Ledger | None) -> dict[str, Any]:
        return {"callback_manager": CallbackManager([LedgerCallbackHandler(ledger)])} if ledger else {}

    def search(self, retriever: Any, query: str) -> Any:
        return retriever.retrieve(query)

    async def asearch(self, retriever: Any, query: str) -> Any:
        return await retriever.aretrieve(query)

    def slow(self, ledger: Ledger, seconds: float) -> Any:
        return SlowIndex(lambda _: seconds, **self._managed(ledger))


class Asynchronous:
    asynchronous = True


class AsyncLangChain(Asynchronous, LangChain):
    """`ainvoke`."""


class AsyncLlamaIndex(Asynchronous, LlamaIndex):
    """`aretrieve`."""


class TestOwnCode(AdapterConformance):
    world = OwnCode()


class TestLangChain(AdapterConformance):
    world = LangChain()


class TestLangChainAsync(AdapterConformance):
    world = AsyncLangChain()


class TestLlamaIndex(AdapterConformance):
    world = LlamaIndex()


class TestLlamaIndexAsync(AdapterConformance):
    world = AsyncLlamaIndex()
