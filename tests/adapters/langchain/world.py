"""Retrievers that know nothing of ragledger, and what the table says of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from ragledger import Ledger


def document(name: Any, content: str | None = None, **metadata: Any) -> Document:
    return Document(id=name, page_content=content or f"text of {name}", metadata=metadata)


def documents(*names: str) -> list[Document]:
    return [document(name) for name in names]


def vector_store(count: int = 20) -> Relevant:
    store = Relevant(DeterministicFakeEmbedding(size=8))
    store.add_documents([document(f"c{number}", doc_id=f"d{number // 3}") for number in range(count)])
    return store


class Relevant(InMemoryVectorStore):
    """Can search by a threshold: a cosine as a relevance from 0 to 1."""

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: (cosine + 1) / 2


class Listed(BaseRetriever):
    """Returns what it was given; natively async too."""

    found: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return self.found

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return self.found


class Keywords(BaseRetriever):
    """What BM25 is to a hybrid: no ids asked for, no scores."""

    docs: list[Document]
    k: int = 3

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.docs[: self.k]


class Slow(BaseRetriever):
    """Takes its time, in a thread or on the loop."""

    wait_s: float = 5.0

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        time.sleep(self.wait_s)
        return documents("a")

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(self.wait_s)
        return documents("a")


class Raising(BaseRetriever):
    """Raises what it was given, the same object every time."""

    fault: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise self.fault


class Calling(BaseRetriever):
    """Runs a function as its body."""

    body: Callable[[str], Any]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return self.body(query)


def generated() -> Iterator[Document]:
    yield from documents("a", "b")


class Table:
    """The rows that the ledgers of a test have written, oldest first."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._ledgers: list[Ledger] = []

    def of(self, ledger: Ledger) -> Table:
        self._ledgers.append(ledger)
        return self

    def searches(self, where: str = "true") -> list[dict[str, Any]]:
        return self._read(f"SELECT * FROM searches WHERE {where} ORDER BY search_id")

    def roots(self) -> list[dict[str, Any]]:
        return self.searches("depth = 0")

    def one(self) -> dict[str, Any]:
        (search,) = self.searches()
        return search

    def hits(self, search: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        which = f"search_id = '{search['search_id']}'" if search is not None else "true"
        return self._read(f"SELECT * FROM hits WHERE {which} ORDER BY search_id, rank")

    def _read(self, query: str) -> list[dict[str, Any]]:
        for ledger in self._ledgers:
            assert ledger.flush(timeout_s=30)
        with self._database.connect() as connection:
            cursor = connection.execute(query)
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
