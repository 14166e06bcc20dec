"""What wrapping a store's class leaves behind: nothing that was somebody else's, and no class that would be gone."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

from adapters.langchain.world import Relevant, document
from langchain_core.embeddings import DeterministicFakeEmbedding

import ragledger
from ragledger.testing import memory_ledger
from ragledger_langchain import observe, observe_store
from ragledger_langchain.listening import unlisten


def _filled(cls: Any) -> Any:
    store = cls(DeterministicFakeEmbedding(size=8))
    store.add_documents([document(f"c{number}") for number in range(5)])
    return store


def test_a_function_that_somebody_wrapped_round_ours_stays_and_works() -> None:
    class Wrapped(Relevant):
        pass

    store = _filled(Wrapped)
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        ours = Wrapped.similarity_search

        @functools.wraps(ours)
        def theirs(self: Any, *args: Any, **kwargs: Any) -> Any:
            return ours(self, *args, **kwargs)

        Wrapped.similarity_search = theirs  # type: ignore[method-assign]
        observe_store(store, ledger)
        assert len(store.similarity_search("q")) == 4
        assert len(ledger.searches) == 1
        unlisten()
        assert Wrapped.similarity_search is theirs


def test_what_the_store_s_own_code_hands_over_wins() -> None:
    class Telling(Relevant):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            ragledger.current().candidates(ragledger.Candidate("c1", vector=0.25, score=0.5))
            return super().similarity_search(query, k, **kwargs)

    with memory_ledger() as ledger:
        observe(_filled(Telling).as_retriever(), ledger, scores=True).invoke("q")
        assert {hit.chunk_id: hit.score for hit in ledger.hits if hit.score is not None} == {"c1": 0.5}


def test_a_subclass_of_an_observed_class_is_observed_by_itself() -> None:
    class Base(Relevant):
        pass

    class Derived(Base):
        def similarity_search(self, query: str, k: int = 2, **kwargs: Any) -> Any:
            return super().similarity_search(query, k, **kwargs)

    with memory_ledger() as ledger:
        observe_store(_filled(Base), ledger)
        store = _filled(Derived)
        store.similarity_search("q")
        assert ledger.searches == []
        observe_store(store, ledger)
        store.similarity_search("q")
        assert (ledger.row.retriever, ledger.row.top_k, ledger.row.candidate_count) == ("Derived", 2, 2)
        assert {hit.score_kind for hit in ledger.hits} == {"similarity"}


def test_classes_that_come_and_go_are_not_kept() -> None:
    def one() -> weakref.ref[type]:
        made: Any = type("Made", (Relevant,), {})
        store = _filled(made)
        with memory_ledger() as ledger:
            observe(store.as_retriever(), ledger, scores=True).invoke("q")
            observe_store(store, ledger)
            assert {hit.score_source for hit in ledger.hits} == {"vector_store"}
        return weakref.ref(made)

    found = [one() for _ in range(3)]
    from ragledger_langchain.weights import vector_store

    # What is cached by class is bounded, and not what this is about.
    for cache in (vector_store._readings, vector_store._defaults, vector_store._is_pg):
        cache.clear()
    gc.collect()
    assert [ref() for ref in found] == [None] * 3
