"""Whose number a score is: a member's, a store's, a metadata's or a reranker's; and which way round."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.langchain.world import Listed, document, documents
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from ragledger.extraction import Call, Reading, extractor
from ragledger.model import HitRecord, Returned, SearchRecord, Signal
from ragledger.testing import memory_ledger
from ragledger_langchain import observe, observe_store
from ragledger_langchain.listening import kind_of

pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor


class Other(Listed):
    pass


class Reversing(BaseDocumentCompressor):
    """Leaves scores as they are."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return list(documents)[::-1]


def _hits(search: SearchRecord) -> dict[str | None, HitRecord]:
    assert not isinstance(search.hits, Returned)
    return {hit.chunk_id: hit for hit in search.hits}


def _distances() -> Listed:
    return Listed(found=[document("near", distance=0.1), document("far", distance=0.9)])


def test_a_distance_of_a_member_is_turned_and_is_no_score_of_the_fused_hit() -> None:
    with memory_ledger() as ledger:
        members = [_distances(), Other(found=documents("far", "near"))]
        observe(EnsembleRetriever(retrievers=members, weights=[0.5, 0.5]), ledger).invoke("q")
        search = ledger.searches[-1]
    near = _hits(search)["near"]
    assert near.signals == {"Listed": Signal(-0.1, 1), "Other": Signal(None, 2)}
    assert (near.score, near.score_kind) == (None, "none")
    assert search.top_admitted_score is None


def test_what_a_compressor_left_as_it_was_is_no_score_of_its_own() -> None:
    with memory_ledger() as ledger:
        retriever = ContextualCompressionRetriever(base_retriever=_distances(), base_compressor=Reversing())
        observe(retriever, ledger).invoke("q")
        search = ledger.searches[-1]
    hits = _hits(search)
    assert [(hit.score, hit.signals) for hit in hits.values()] == [
        (None, {"Listed": Signal(-0.9, 2)}),
        (None, {"Listed": Signal(-0.1, 1)}),
    ]
    assert search.top_admitted_score is None


def _store() -> InMemoryVectorStore:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([document("a", score=0.01), document("b", relevance_score=0.99)])
    return store


def test_a_heard_score_wins_over_metadata_and_not_over_a_reranker() -> None:
    store = _store()
    assert kind_of(store) == "similarity"
    heard = {found.id: score for found, score in store.similarity_search_with_score("text of a")}
    with memory_ledger() as ledger:
        observe_store(store, ledger).similarity_search_with_score("text of a")
        hits = _hits(ledger.searches[-1])
    a, b = hits["a"], hits["b"]
    assert (a.score, a.score_kind, a.score_source) == (heard["a"], "similarity", "vector_store")
    assert (b.score, b.score_kind, b.score_source) == (0.99, "rerank", "metadata.relevance_score")
    assert (a.vector_score, b.vector_score) == (heard["a"], heard["b"])


def test_a_member_that_gives_an_item_twice_is_flagged() -> None:
    with memory_ledger() as ledger:
        members = [Listed(found=documents("a", "b", "b")), Other(found=documents("c"))]
        observe(EnsembleRetriever(retrievers=members, weights=[0.5, 0.5]), ledger).invoke("q")
        assert "duplicate_hit" in ledger.searches[-1].flags


def test_two_items_of_one_id_have_no_signals() -> None:
    with memory_ledger() as ledger:
        members = [Listed(found=[document("1", "one")]), Other(found=[document("1", "other")])]
        observe(EnsembleRetriever(retrievers=members, weights=[0.1, 0.9]), ledger).invoke("q")
        assert _hits(ledger.searches[-1])["1"].signals is None


class Keyed(Listed):
    parts: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        first, second = [part.invoke(query) for part in self.parts]
        return first or second


@extractor(f"{__name__}.Keyed")
def _keyed(retriever: Any, call: Call) -> Reading:
    return Reading(members=retriever.parts, key=lambda item: item.metadata["k"])


def test_the_key_of_a_reading_matches_the_items_of_members() -> None:
    with memory_ledger() as ledger:
        parts = [Listed(found=[document("a1", k=1)]), Other(found=[document("b1", k=1)])]
        observe(Keyed(parts=parts), ledger).invoke("q")
        hits = _hits(ledger.searches[-1])
    assert hits["a1"].signals == {"Listed": Signal(None, 1), "Other": Signal(None, 1)}


def test_a_member_after_one_that_failed_is_no_attempt() -> None:
    class Failing(Listed):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
            raise ConnectionError("down")

    with memory_ledger() as ledger:
        failing = Failing()
        soft = RunnableLambda(
            lambda query: failing.with_fallbacks([RunnableLambda(lambda _: [])]).invoke(query)
        )
        members = [soft, Other(found=documents("b"))]
        observe(EnsembleRetriever(retrievers=members, weights=[0.5, 0.5]), ledger).invoke("q")
        by_name = {search.retriever: search for search in ledger.searches}
    assert by_name["Failing"].status == "error"
    assert by_name["Other"].attempt_of is None


def test_an_answer_that_was_not_recorded_cannot_be_served_again() -> None:
    from ragledger import Receipt

    with memory_ledger() as ledger:
        again = ledger.served(Receipt(search_id=None, status="disabled"))
        assert (again.search_id, again.status, again.reason) == (None, "refused", "not_recorded")
        assert not ledger.searches
