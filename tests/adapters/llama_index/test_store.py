"""A vector store that is asked directly."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import json
import pickle
from typing import Any

import pytest
from adapters.llama_index.doubles import vector_index
from held import held_elsewhere
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

import ragledger
from ragledger.forks import unforked
from ragledger.testing import memory_ledger as open_memory_ledger
from ragledger_llama_index import observe_store
from ragledger_llama_index.store import _observed, _wrapping

QUERY = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=2)


def store() -> SimpleVectorStore:
    made = SimpleVectorStore()
    made.data.embedding_dict = {"a": [1.0, 0.0], "b": [0.6, 0.8], "c": [0.0, 1.0]}
    return made


class Holding(SimpleVectorStore):
    """A store that gives nodes, by an answer of its own."""

    answer: Any = None

    def query(self, query: Any, **kwargs: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if self.answer is not None else super().query(query, **kwargs)


def holding(answer: Any) -> Holding:
    made = Holding()
    made.answer = answer
    return made


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_direct_query_is_one_row(memory_ledger, asynchronous):
    observed = observe_store(store(), memory_ledger, corpus="handbook")
    result = asyncio.run(observed.aquery(QUERY)) if asynchronous else observed.query(QUERY)
    row = memory_ledger.row
    assert (row.framework, row.retriever, row.corpus, row.depth) == (
        "llama_index",
        "SimpleVectorStore",
        "handbook",
        0,
    )
    assert (row.top_k, row.admitted_count, row.vector_available) == (2, 2, True)
    assert json.loads(row.weights)["effective"] == {"mode": "default", "similarity_top_k": 2}
    assert [(hit.chunk_id, hit.score, hit.vector_score) for hit in row.hit_rows] == [
        (chunk_id, score, score) for chunk_id, score in zip(result.ids, result.similarities, strict=True)
    ]


def test_p3_object_class_fields_copies_and_pickles_are_as_before(memory_ledger):
    plain = store()
    before = plain.model_dump()
    observed = observe_store(plain, memory_ledger)
    assert observed is plain
    assert type(observed) is SimpleVectorStore
    assert isinstance(observed, BasePydanticVectorStore)
    assert observed.model_dump() == before
    assert observed == store()
    assert list(inspect.signature(observed.query).parameters) == ["query", "kwargs"]
    for other in (copy.copy(observed), copy.deepcopy(observed), observed.model_copy()):
        other.query(QUERY)
    revived = pickle.loads(pickle.dumps(observed))
    revived.query(QUERY)
    assert memory_ledger.searches == []  # another object is another store


def test_nodes_give_ids_and_documents(memory_ledger):
    nodes = list(vector_index("ab").docstore.docs.values())
    answer = VectorStoreQueryResult(nodes=nodes, similarities=[0.0, None], ids=["x", "y"])
    observe_store(holding(answer), memory_ledger).query(QUERY)
    assert [(hit.chunk_id, hit.document_id, hit.score) for hit in memory_ledger.hits] == [
        ("a", "doc-a", 0.0),
        ("b", "doc-b", None),
    ]


def test_without_similarities_there_are_no_scores(memory_ledger):
    observe_store(holding(VectorStoreQueryResult(ids=["x"])), memory_ledger).query(QUERY)
    assert [(hit.chunk_id, hit.score, hit.score_source) for hit in memory_ledger.hits] == [
        ("x", None, "unavailable")
    ]


def test_an_override_that_calls_super_is_one_row(memory_ledger):
    observe_store(Holding(data=store().data), memory_ledger).query(QUERY)
    assert memory_ledger.row.admitted_count == 2


def test_p3_the_store_s_own_error_is_raised(memory_ledger):
    fault = ConnectionError("SECRET")
    with pytest.raises(ConnectionError) as caught:
        observe_store(holding(fault), memory_ledger).query(QUERY)
    assert caught.value is fault
    assert (memory_ledger.row.status, memory_ledger.row.error_type) == ("error", "ConnectionError")


def test_below_an_observed_retriever_there_is_no_row_of_its_own(memory_ledger, memory_manager):
    index = vector_index(manager=memory_manager)
    assert observe_store(index, memory_ledger) is index
    index.as_retriever().retrieve("text of a")
    with memory_ledger.search(corpus="own"):
        index.vector_store.query(VectorStoreQuery(query_embedding=[1.0] * 36, similarity_top_k=1))
    assert [row.retriever for row in memory_ledger.searches] == ["VectorIndexRetriever", None]
    index.vector_store.query(VectorStoreQuery(query_embedding=[1.0] * 36, similarity_top_k=1))
    assert memory_ledger.searches[-1].retriever == "SimpleVectorStore"


def test_a_filter_is_named_and_never_copied(memory_ledger):
    filters = MetadataFilters(filters=[MetadataFilter(key="owner", value="SECRET")])
    query = VectorStoreQuery(query_embedding=[1.0, 0.0], filters=filters, node_ids=["SECRET"])
    observed = observe_store(holding(VectorStoreQueryResult(ids=[])), memory_ledger)
    observed.query(query, SECRET="SECRET")
    observed.query(query=query)
    assert json.loads(memory_ledger.searches[0].weights)["unknown"] == [
        "filters",
        "node_ids",
        "vector_store_kwargs",
    ]
    assert "SECRET" not in str(memory_ledger.searches)


def test_the_mode_s_settings_are_those_of_the_store(memory_ledger):
    query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=2, mode="mmr", mmr_threshold=0.9)
    observe_store(store(), memory_ledger).query(query, mmr_threshold=0.1)
    effective = json.loads(memory_ledger.row.weights)["effective"]
    assert effective["mode"] == "mmr"
    assert effective["mmr_threshold"] == 0.1  # SimpleVectorStore reads the keyword argument alone


def test_nothing_is_recorded_under_suppress(memory_ledger):
    observed = observe_store(store(), memory_ledger)
    with ragledger.suppress():
        assert observed.query(QUERY).ids == ["a", "b"]
    assert memory_ledger.searches == []


def test_a_result_that_cannot_be_read_is_the_application_s_all_the_same():
    with open_memory_ledger(strict=False) as ledger:
        answer = object()
        assert observe_store(holding(answer), ledger).query(QUERY) is answer
        assert "incomplete" in ledger.row.flags
        assert ledger.guard.faults == {"llama_index.extract": 1}


def test_what_is_no_store_and_no_ledger_is_refused(memory_ledger):
    with pytest.raises(TypeError, match="vector store"):
        observe_store(object(), memory_ledger)
    with pytest.raises(TypeError, match="open ledger"):
        observe_store(store(), object())  # type: ignore[arg-type]


def test_a_store_that_is_gone_is_forgotten(memory_ledger):
    known = len(_observed)
    made = observe_store(store(), memory_ledger)
    assert len(_observed) == known + 1
    del made
    gc.collect()
    assert len(_observed) <= known


async def test_a_thousand_queries_at_once_are_a_thousand_rows(memory_ledger):
    observed = observe_store(store(), memory_ledger)
    await asyncio.gather(*(observed.aquery(QUERY) for _ in range(1000)))
    assert len(memory_ledger.searches) == 1000


@pytest.mark.parametrize("asynchronous", [False, True])
def test_p10_a_store_below_a_retriever_of_another_ledger_is_a_root_there(
    memory_ledger, memory_manager, asynchronous
):
    with open_memory_ledger(name="second") as second:
        index = vector_index(manager=memory_manager)
        observe_store(index, second)
        retriever = index.as_retriever(similarity_top_k=3)
        if asynchronous:
            asyncio.run(retriever.aretrieve("text of a"))
        else:
            retriever.retrieve("text of a")
        above, below = memory_ledger.row, second.row
        assert second.guard.faults == {}
    assert (above.retriever, above.depth, above.vector_available) == ("VectorIndexRetriever", 0, True)
    assert (below.retriever, below.depth, below.parent_id) == ("SimpleVectorStore", 0, None)
    assert [hit.chunk_id for hit in below.hit_rows] == [hit.chunk_id for hit in above.hit_rows]


@pytest.mark.timeout(60)
def test_p3_who_observes_a_store_waits_for_no_background_work(memory_ledger):
    class Fresh(SimpleVectorStore):
        def query(self, query: Any, **kwargs: Any) -> Any:
            return super().query(query, **kwargs)

    with held_elsewhere(unforked):
        observed = observe_store(Fresh(), memory_ledger)
    observed.query(QUERY)
    assert memory_ledger.row.retriever == "Fresh"


@pytest.mark.timeout(60)
def test_p3_a_store_whose_class_is_wrapped_is_observed_without_a_lock(memory_ledger):
    observe_store(store(), memory_ledger)
    with held_elsewhere(_wrapping):
        observe_store(store(), memory_ledger).query(QUERY)
    assert memory_ledger.row.admitted_count == 2
