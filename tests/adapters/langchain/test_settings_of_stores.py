"""What a store is given beyond what every store takes, and faults of what is observed: never the caller's."""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import Any

import msgspec
import pytest
from adapters.langchain.world import Listed, document, documents
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from ragledger.extraction import Call, Reading, extractor
from ragledger.model import SearchRecord
from ragledger.testing import memory_ledger
from ragledger_langchain import LangChainInstrumentor, observe, observe_store


class Free(InMemoryVectorStore):
    """Takes whatever it is given, as the stores of services do."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return super().similarity_search(query, k)


def _store(cls: Any = Free) -> Any:
    store = cls(DeterministicFakeEmbedding(size=8))
    store.add_documents(documents("a", "b"))
    return store


def _weights(search: SearchRecord) -> Any:
    return msgspec.json.decode(search.weights or b"null")


def test_extra_settings_of_a_retriever_are_configured_and_their_effect_is_unknown() -> None:
    with memory_ledger() as ledger:
        extra = {
            "alpha": 0.3,
            "hybrid": True,
            "namespace": "docs",
            "query_text": "who",
            "where_document": {"x": "y"},
        }
        observe(_store().as_retriever(search_kwargs=extra), ledger).invoke("q")
        observe(_store().as_retriever(search_kwargs={**extra, "alpha": 0.7}), ledger).invoke("q")
        observe(_store().as_retriever(search_kwargs={**extra, "hybrid": 1}), ledger).invoke("q")
        first, second, third = map(_weights, ledger.searches)
    assert first["configured"]["alpha"] == 0.3
    assert first["configured"]["hybrid"] is True
    assert first["configured"]["namespace"] == "docs"
    assert "query_text" not in first["configured"]
    assert set(first["unknown"]) == set(extra)
    assert second["configured"]["alpha"] == 0.7
    assert third["configured"]["hybrid"] == 1
    assert third["configured"]["hybrid"] is not True


def test_extra_arguments_of_a_call_to_a_store_are_read_and_the_query_is_not() -> None:
    with memory_ledger() as ledger:
        store = observe_store(_store(), ledger)
        store.similarity_search("secret", k=1, alpha=0.3)
        store.similarity_search(query="secret", alpha=0.7)
        first, second = map(_weights, ledger.searches)
    assert first["configured"] == {"search_type": "similarity", "k": 1, "alpha": 0.3}
    assert first["unknown"] == ["alpha"]
    assert second["configured"]["alpha"] == 0.7
    assert "secret" not in repr(ledger.searches)


class Broken(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise RuntimeError("no answer after all")


class Lazy(InMemoryVectorStore):
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return Broken(super().similarity_search(query, k))


def test_a_result_that_raises_when_it_is_read_reaches_the_caller_and_the_row_says_so() -> None:
    with memory_ledger(strict=False) as ledger:
        result = observe_store(_store(Lazy), ledger).similarity_search("q")
        (search,) = ledger.searches
        assert ledger.guard.faults["langchain.extract"] == 1
    assert type(result) is Broken
    assert "result_unreadable" in search.flags


class Unconnected(BaseRetriever):
    inner: Any

    @property
    def vectorstore(self) -> Any:
        raise RuntimeError("not connected")

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return self.inner.similarity_search(query)


def test_a_property_that_raises_costs_the_caller_nothing() -> None:
    with memory_ledger(strict=False) as ledger:
        retriever = Unconnected(inner=observe_store(_store(), ledger))
        assert len(observe(retriever, ledger).invoke("q")) == 2
        assert [search.retriever for search in ledger.searches] == ["Free", "Unconnected"]


def test_an_observed_store_outlives_somebody_elses_instrumentor() -> None:
    with memory_ledger() as ledger, memory_ledger(name="theirs") as theirs:
        store = observe_store(_store(), ledger)
        instrumentor = LangChainInstrumentor()
        instrumentor.instrument(ledger=theirs)
        instrumentor.uninstrument()
        store.similarity_search("q")
        assert len(ledger.searches) == 1


def test_a_store_whose_ledger_is_closed_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    with memory_ledger(name="closed-for-stores") as ledger:
        store = observe_store(_store(), ledger)
    with caplog.at_level(logging.WARNING):
        assert len(store.similarity_search("q")) == 2
        store.similarity_search("q")
    assert [record.getMessage() for record in caplog.records].count(
        "ragledger: a retriever or store is marked for ledger closed-for-stores, which is not open in this process"
    ) == 1


def _decorated(function: Any) -> Any:
    @functools.wraps(function)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return outer


class Decorated(InMemoryVectorStore):
    @_decorated
    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        raise ConnectionError("down")


def test_an_async_method_behind_a_plain_decorator_is_awaited() -> None:
    with memory_ledger() as ledger:
        store = observe_store(_store(Decorated), ledger)
        with pytest.raises(ConnectionError):
            asyncio.run(store.asimilarity_search("q"))
        assert [search.status for search in ledger.searches] == ["error"]


class Unreadable(Listed):
    pass


@extractor(f"{__name__}.Unreadable")
def _unreadable(retriever: Any, call: Call) -> Reading:
    raise RuntimeError("changed")


def test_declared_weights_win_where_the_extractor_raises() -> None:
    with memory_ledger(strict=False) as ledger:
        observe(Unreadable(found=[document("a")]), ledger, weights={"alpha": 0.2}).invoke("q")
        (search,) = ledger.searches
        assert _weights(search)["effective"] == {"alpha": 0.2}
        assert ledger.guard.faults["langchain.weights"] == 1


def test_one_member_that_cannot_be_read_does_not_hide_the_others() -> None:
    ensemble = pytest.importorskip("langchain_classic.retrievers").EnsembleRetriever
    with memory_ledger(strict=False) as ledger:
        members = [Unreadable(found=[document("a")]), _store().as_retriever()]
        observe(ensemble(retrievers=members, weights=[0.5, 0.5]), ledger).invoke("q")
        weights = _weights(ledger.searches[-1])
    assert weights["effective"]["members"] == ["Unreadable", "VectorStoreRetriever"]
    assert weights["effective"]["member_settings"][0] is None
    assert weights["effective"]["member_settings"][1] == {"search_type": "similarity", "k": 4}
    assert weights["unknown"] == ["member_1"]
