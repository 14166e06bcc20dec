"""The ways in which a search can reach a ledger, each around a body that a test gives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from adapters.langchain.world import documents
from adapters.llama_index.doubles import scored
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever as LlamaIndexRetriever

from ragledger import Candidate, Ledger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

SYNC = ["own code", "langchain", "llama_index"]
ASYNC = SYNC[1:]
Body = Callable[[], None]


class Chain(LangChainRetriever):
    body: Body
    found: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        self.body()
        return self.found

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        self.body()
        return self.found


class Index(LlamaIndexRetriever):
    def __init__(self, body: Body, **kwargs: Any) -> None:
        self.body, self.found = body, scored(("a", 0.5), ("b", 0.4))
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: Any) -> Any:
        self.body()
        return self.found

    async def _aretrieve(self, query_bundle: Any) -> Any:
        self.body()
        return self.found


def nothing() -> None:
    """The body of a search that goes well."""


def _chain(ledger: Ledger, body: Body) -> Chain:
    return observe(Chain(body=body, found=documents("a", "b")), ledger)


def _index(ledger: Ledger, body: Body) -> Index:
    return Index(body, callback_manager=CallbackManager([LedgerCallbackHandler(ledger)]))


def sync_search(way: str, ledger: Ledger, body: Body = nothing) -> Callable[[], Any]:
    """Searches; the answer is two items, a and b."""
    if way == "langchain":
        chain = _chain(ledger, body)
        return lambda: chain.invoke("q")
    if way == "llama_index":
        index = _index(ledger, body)
        return lambda: index.retrieve("q")

    def search() -> list[str]:
        with ledger.search() as found:
            body()
            found.candidates(Candidate("a"), Candidate("b"))
        return ["a", "b"]

    return search


def async_search(way: str, ledger: Ledger, body: Body = nothing) -> Callable[[], Awaitable[Any]]:
    """The same, on the loop."""
    if way == "langchain":
        chain = _chain(ledger, body)
        return lambda: chain.ainvoke("q")
    index = _index(ledger, body)
    return lambda: index.aretrieve("q")
