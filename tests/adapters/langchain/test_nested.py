"""Composites that do not fuse: one depth-0 row, members below it, and what a compressor leaves out."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from adapters.langchain.world import Keywords, Listed, document, documents, vector_store
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from ragledger.model import SearchRecord, Signal
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe

pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    RePhraseQueryRetriever,
)


class Reranked(BaseDocumentCompressor):
    """As the rerankers of services do it: copies, best first, with a score in their metadata."""

    ids: bool = True

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return [
            Document(
                id=item.id if self.ids else None,
                page_content=item.page_content,
                metadata={**item.metadata, "relevance_score": 0.9 - place / 10},
            )
            for place, item in enumerate(reversed(list(documents)[:3]))
        ]


class Shortened(BaseDocumentCompressor):
    """As an extractor does it: another text, and nothing that leads back."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return [Document(page_content=item.page_content[-2:]) for item in documents]


class Down(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("provider down")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]


def _dense(*, down: bool = False, k: int = 4) -> Any:
    store = InMemoryVectorStore(Down()) if down else vector_store()
    return store.as_retriever(search_kwargs={"k": k})


def _compressed(base: Any, compressor: Any) -> Any:
    return ContextualCompressionRetriever(base_retriever=base, base_compressor=compressor)


def _root(ledger: MemoryLedger) -> SearchRecord:
    [root] = [search for search in ledger.searches if search.depth == 0]
    return root


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("ids", [True, False])
def test_what_a_compressor_leaves_out_is_a_candidate(ids: bool, asynchronous: bool) -> None:
    base = Listed(found=documents("a", "b", "c", "d"))
    retriever = _compressed(base, Reranked(ids=ids))
    with memory_ledger() as ledger:
        observe(retriever, ledger)
        _ = asyncio.run(retriever.ainvoke("q")) if asynchronous else retriever.invoke("q")
        root = _root(ledger)
        assert [(hit.chunk_id, hit.admitted, hit.score, hit.score_kind) for hit in root.hit_rows] == [
            ("c", True, 0.9, "rerank"),
            ("b", True, 0.8, "rerank"),
            ("a", True, 0.7, "rerank"),
            ("d", False, None, "none"),
        ]
        assert [hit.signals for hit in root.hit_rows] == [
            {"Listed": Signal(None, rank)} for rank in (3, 2, 1, 4)
        ]
        assert (root.candidate_count, root.admitted_count) == (4, 3)
        assert (root.top_candidate_score, root.top_admitted_score) == (0.9, 0.9)
        assert root.flags == ()


def test_texts_that_are_alike_stay_as_many_as_they_are() -> None:
    base = Listed(found=[document("a", "same"), document("b", "same"), document("c", "other")])
    with memory_ledger() as ledger:
        observe(_compressed(base, Reranked(ids=False)), ledger).invoke("q")
        root = _root(ledger)
        assert sorted(hit.chunk_id or "" for hit in root.hit_rows) == ["a", "b", "c"]
        assert root.flags == ()


def test_another_text_is_another_chunk() -> None:
    with memory_ledger() as ledger:
        observe(_compressed(Listed(found=documents("a", "b")), Shortened()), ledger).invoke("q")
        found = [(hit.chunk_id_source, hit.admitted) for hit in _root(ledger).hit_rows]
        assert found == [("derived", True)] * 2 + [("framework", False)] * 2


def test_an_id_of_a_configured_key_goes_through_a_compressor() -> None:
    base = Listed(found=[document(None, "one", chunk="m1"), document(None, "two", chunk="m2")])
    with memory_ledger(chunk_id_key="chunk") as ledger:
        observe(_compressed(base, Reranked(ids=False)), ledger).invoke("q")
        assert [(hit.chunk_id, hit.chunk_id_source) for hit in _root(ledger).hit_rows] == [
            ("m2", "metadata"),
            ("m1", "metadata"),
        ]


@pytest.mark.parametrize("again", [False, True])
def test_a_compressor_that_searches_itself_is_not_the_base(again: bool) -> None:
    base = Listed(found=documents("a", "b"))
    other = base if again else Listed(found=documents("x"))

    class Asking(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
            kept = list(documents)
            if again:
                base.found = kept[:1]  # what it would say now
            other.invoke(query)
            return kept[:1]

    with memory_ledger() as ledger:
        observe(_compressed(base, Asking()), ledger).invoke("q")
        assert [hit.chunk_id for hit in _root(ledger).hit_rows] == ["a", "b"]


def test_a_base_that_is_no_retriever_is_not_guessed() -> None:
    inner = Listed(found=documents("a", "b", "c"))
    base = RunnableLambda(lambda query: inner.invoke(query)[1:])
    with memory_ledger() as ledger:
        observe(_compressed(base, Reranked()), ledger).invoke("q")
        assert [(hit.chunk_id, hit.signals) for hit in _root(ledger).hit_rows] == [("c", None), ("b", None)]


def test_an_empty_answer_of_the_base_is_an_ok_search_with_nothing() -> None:
    with memory_ledger() as ledger:
        observe(_compressed(Listed(found=[]), Reranked()), ledger).invoke("q")
        root = _root(ledger)
        assert (root.status, root.candidate_count, root.admitted_count, root.hit_rows) == ("ok", 0, 0, ())


def test_a_compressed_ensemble_and_an_ensemble_of_compressed() -> None:
    ensemble = EnsembleRetriever(retrievers=[Listed(found=documents("a", "b")), Listed(found=documents("b"))])
    with memory_ledger() as ledger:
        observe(_compressed(ensemble, Reranked()), ledger).invoke("q")
        assert [list(hit.signals or {}) for hit in _root(ledger).hit_rows] == [["EnsembleRetriever"]] * 2
        assert [search.depth for search in ledger.searches] == [2, 2, 1, 0]
    members = [_compressed(Listed(found=documents("a", "b")), Reranked()), Keywords(docs=documents("b"))]
    with memory_ledger() as ledger:
        observe(EnsembleRetriever(retrievers=members), ledger).invoke("q")
        said = {hit.chunk_id: hit.signals for hit in _root(ledger).hit_rows}
        assert said == {
            "b": {"ContextualCompressionRetriever": Signal(0.9, 1), "Keywords": Signal(None, 1)},
            "a": {"ContextualCompressionRetriever": Signal(0.8, 2)},
        }


@pytest.mark.parametrize("asynchronous", [False, True])
def test_p10_every_question_of_a_multi_query_is_a_row_below_the_one_that_counts(asynchronous: bool) -> None:
    lines = RunnableLambda(lambda _: ["one", "two", "one"])
    retriever = MultiQueryRetriever(retriever=_dense(), llm_chain=lines, include_original=True)
    with memory_ledger() as ledger:
        observe(retriever, ledger)
        found = asyncio.run(retriever.ainvoke("q")) if asynchronous else retriever.invoke("q")
        root = _root(ledger)
        assert [search.depth for search in ledger.searches] == [1, 1, 1, 1, 0]
        assert [hit.chunk_id for hit in root.hit_rows] == [item.id for item in found]
        assert {search.parent_id for search in ledger.searches[:-1]} == {root.search_id}
        assert root.vector_available is True


def test_p10_a_rephrased_question_is_one_row_and_one_below_it() -> None:
    retriever = RePhraseQueryRetriever(retriever=_dense(), llm_chain=RunnableLambda(lambda _: "rephrased"))
    with memory_ledger() as ledger:
        observe(retriever, ledger).invoke("q")
        assert [search.depth for search in ledger.searches] == [1, 0]
        with pytest.raises(NotImplementedError):
            asyncio.run(retriever.ainvoke("q"))
        assert [search.status for search in ledger.searches] == ["ok", "ok", "error"]


# --- vector_available of composites ------------------------------------------------------------------------


def _ensemble(*members: Any) -> Any:
    return EnsembleRetriever(retrievers=list(members))


def _safe(member: Any) -> Any:
    return member.with_fallbacks([Listed(found=[])])


@pytest.mark.parametrize(
    ("make", "available"),
    [
        (lambda: _ensemble(_dense(), Keywords(docs=[])), True),
        (lambda: _ensemble(Keywords(docs=[]), Keywords(docs=[])), None),
        (lambda: _ensemble(_dense(down=True), Keywords(docs=[])), False),
        (lambda: _ensemble(_safe(_dense(down=True)), Keywords(docs=[])), False),
        (lambda: _ensemble(_safe(_dense(down=True)), _dense()), True),
        (lambda: _ensemble(_dense(), _safe(_dense(down=True))), True),
        (lambda: MergerRetriever(retrievers=[_dense(), Keywords(docs=[])]), True),
        (lambda: _ensemble(_ensemble(_dense(), Keywords(docs=[])), Keywords(docs=[])), True),
        (lambda: _ensemble(_ensemble(_safe(_dense(down=True)), Keywords(docs=[])), Listed(found=[])), False),
        (lambda: _compressed(_dense(), Reranked()), True),
        (lambda: _compressed(_dense(down=True), Reranked()), False),
        (lambda: _compressed(Listed(found=documents("a")), Reranked()), None),
    ],
)
def test_p8_vector_available_of_a_composite_is_what_its_members_know(
    make: Any, available: bool | None
) -> None:
    with memory_ledger() as ledger:
        with contextlib.suppress(ConnectionError):
            observe(make(), ledger).invoke("q")
        assert _root(ledger).vector_available is available


def test_p8_the_application_s_own_word_on_vectors_wins() -> None:
    import ragledger

    class Careful(EnsembleRetriever):
        def weighted_reciprocal_rank(self, doc_lists: Any) -> Any:
            ragledger.current().degrade("stale_index", vector_available=False)
            return super().weighted_reciprocal_rank(doc_lists)

    with memory_ledger() as ledger:
        observe(Careful(retrievers=[_dense(), Keywords(docs=[])]), ledger).invoke("q")
        root = _root(ledger)
        assert (root.vector_available, root.degraded_reason) == (False, "stale_index")


# --- the real ones ------------------------------------------------------------------------------------------


def test_d16_the_score_of_an_embeddings_filter_is_in_its_state_and_the_id_is_the_base_s() -> None:
    pytest.importorskip("langchain_community")
    from langchain_classic.retrievers.document_compressors import EmbeddingsFilter

    base = _dense(k=6)
    retriever = _compressed(base, EmbeddingsFilter(embeddings=base.vectorstore.embedding, k=2))
    with memory_ledger() as ledger:
        found = observe(retriever, ledger).invoke("q")
        assert {item.id for item in found} == {None}
        hits = _root(ledger).hit_rows
        assert [
            (hit.chunk_id, hit.chunk_id_source, hit.score, hit.score_kind) for hit in hits if hit.admitted
        ] == [
            (hit.chunk_id, "framework", pytest.approx(item.state["query_similarity_score"]), "similarity")
            for hit, item in zip(hits, found, strict=False)
        ]
        assert {hit.score_source for hit in hits if hit.admitted} == {"state.query_similarity_score"}
        assert (len(hits), sum(hit.admitted for hit in hits)) == (6, 2)
    with memory_ledger(chunk_id_key="doc_id") as ledger:
        observe(retriever, ledger).invoke("q")
        assert {hit.chunk_id_source for hit in _root(ledger).hit_rows} == {"metadata"}


def test_d17_bm25_of_documents_without_ids_names_them_the_same_each_time() -> None:
    pytest.importorskip("langchain_community")
    pytest.importorskip("rank_bm25")
    from langchain_community.retrievers import BM25Retriever

    retriever = BM25Retriever.from_texts(["alpha beta", "beta gamma", "gamma delta"], k=2)
    with memory_ledger() as ledger:
        observe(retriever, ledger)
        retriever.invoke("beta")
        retriever.invoke("beta")
        first, second = [[hit.chunk_id for hit in search.hit_rows] for search in ledger.searches]
        assert first == second
        assert {hit.chunk_id_source for search in ledger.searches for hit in search.hit_rows} == {"derived"}
        assert ledger.searches[0].vector_available is None


def test_an_ensemble_of_the_usual_parts_says_which_signal_was_which() -> None:
    pytest.importorskip("langchain_community")
    pytest.importorskip("rank_bm25")
    from langchain_community.retrievers import BM25Retriever

    dense = _dense(k=3)
    words = BM25Retriever.from_documents(dense.vectorstore.get_by_ids(["c1", "c2", "c3"]), k=2)
    with memory_ledger() as ledger:
        observe(EnsembleRetriever(retrievers=[dense, words], weights=[0.5, 0.5]), ledger).invoke("c2")
        root = _root(ledger)
        assert set(root.signals or {}) == {"VectorStoreRetriever", "BM25Retriever"}
        assert '"unknown":[]' in root.weights
