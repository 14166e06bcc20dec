"""Scores that a store finds and its retriever drops, and direct use of stores: asked for, one row, nothing changed."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Calling, Listed, Relevant, document, vector_store
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

import ragledger
from ragledger.errors import ConfigError
from ragledger.testing import CapturedSpans, memory_ledger
from ragledger_langchain import observe, observe_store
from ragledger_langchain.listening import unlisten

QUERY = "a question"


def _plain(result: Any) -> list[Any]:
    """Documents with or without their scores, as values."""
    return [
        (item[0].model_dump(), item[1]) if isinstance(item, tuple) else item.model_dump() for item in result
    ]


class Counting(DeterministicFakeEmbedding):
    """How often it was asked."""

    asked: list[str] = []  # noqa: RUF012  pydantic copies it

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return super().embed_query(text)


class Silent(Relevant):
    """Its plain search is not made of its scored one."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return list(reversed(self.get_by_ids(["c1", "c2", "c3"])))[:k]


class Mixed(Relevant):
    """Its plain search adds what its scored one did not find."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [*super().similarity_search(query, k, **kwargs), document("added")]


class Nameless(Relevant):
    """Filters by the threshold itself, as stores do whose database can."""

    def similarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        threshold = kwargs.pop("score_threshold")
        found = self.similarity_search_with_score(query, k)
        return [(item, (score + 1) / 2) for item, score in found if (score + 1) / 2 >= threshold]


def _filled(cls: type[Relevant]) -> Relevant:
    store = cls(Counting(size=8))
    store.add_documents([document(f"c{number}", doc_id=f"d{number // 3}") for number in range(20)])
    return store


# --- observe(..., scores=True) -----------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("search_type", "search_kwargs", "kind"),
    [
        ("similarity", {"k": 5}, "similarity"),
        ("similarity_score_threshold", {"k": 6, "score_threshold": 0.72}, "similarity"),
        ("similarity_score_threshold", {"k": 6, "score_threshold": 0.99}, None),
        ("mmr", {"k": 3}, None),
    ],
)
@pytest.mark.parametrize("cls", [Relevant, Silent, Mixed, Nameless])
def test_d12_scores_are_kept_and_nothing_is_different(
    cls: type[Relevant],
    search_type: str,
    search_kwargs: dict[str, Any],
    kind: str | None,
    asynchronous: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = _filled(cls)
    retriever = store.as_retriever(search_type=search_type, search_kwargs=search_kwargs)

    def searched() -> tuple[list[Any], int, list[str]]:
        caplog.clear()
        store.embedding.asked.clear()  # type: ignore[attr-defined]
        found = asyncio.run(retriever.ainvoke(QUERY)) if asynchronous else retriever.invoke(QUERY)
        return _plain(found), len(store.embedding.asked), [record.getMessage() for record in caplog.records]  # type: ignore[attr-defined]

    before = searched()
    with memory_ledger() as ledger:
        assert observe(retriever, ledger, scores=True) is retriever
        assert searched() == before  # the same documents, order, calls of the provider and log lines
        hits = ledger.hits
        admitted = [hit for hit in hits if hit.admitted]
        assert [hit.chunk_id for hit in admitted] == [item["id"] for item in before[0]]
        heard = kind is not None and (
            asynchronous or search_type != "similarity" or cls not in (Silent, Mixed)
        )  # the async search of the core's store is made of its scored one
        assert all((hit.score is not None) is heard for hit in admitted)
        if heard:
            assert {(hit.score_kind, hit.score_source) for hit in admitted} == {(kind, "vector_store")}
            scores = dict((item.id, score) for item, score in store.similarity_search_with_score(QUERY, k=20))
            relevance = search_type != "similarity"
            assert [hit.score for hit in admitted] == pytest.approx(
                [(scores[hit.chunk_id] + 1) / 2 if relevance else scores[hit.chunk_id] for hit in admitted]
            )


def test_what_fell_below_the_threshold_is_a_candidate_so_that_it_can_be_tuned() -> None:
    store = vector_store()
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": 6, "score_threshold": 0.72}
    )
    with memory_ledger() as ledger:
        observe(retriever, ledger, scores=True).invoke(QUERY)
        row = ledger.row
        assert 0 < (row.admitted_count or 0) < (row.candidate_count or 0) == 6
        assert all((hit.score or 0) >= 0.72 for hit in ledger.hits if hit.admitted)
        assert all((hit.score or 1) < 0.72 for hit in ledger.hits if not hit.admitted)
        assert row.top_candidate_score == row.top_admitted_score
        assert [hit.document_id for hit in ledger.hits] == [
            f"d{int((hit.chunk_id or 'c0')[1:]) // 3}" for hit in ledger.hits
        ]


def test_scores_are_not_kept_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = vector_store().as_retriever()
    other = vector_store().as_retriever()
    with memory_ledger() as ledger:
        observe(asked, ledger, scores=True).invoke(QUERY)
        observe(other, ledger).invoke(QUERY)
        observe(asked, ledger).invoke(QUERY)
        sources = [{hit.score_source for hit in search.hit_rows} for search in ledger.searches]
        assert sources == [{"vector_store"}, {"unavailable"}, {"unavailable"}]


def test_scores_are_asked_of_a_retriever_with_a_store() -> None:
    with memory_ledger() as ledger, pytest.raises(TypeError, match="no vector store"):
        observe(Listed(found=[]), ledger, scores=True)


def test_a_score_of_an_unknown_class_of_store_is_of_no_known_kind() -> None:
    class Own(VectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            return [item for item, _ in self.similarity_search_with_score(query, k)]

        def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:  # type: ignore[override]
            return [(document("a"), 0.2), (document("b"), 0.7)][:k]

        @classmethod
        def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    with memory_ledger() as ledger:
        observe(Own().as_retriever(), ledger, scores=True).invoke(QUERY)
        assert [(hit.score, hit.score_kind) for hit in ledger.hits] == [(0.2, "none"), (0.7, "none")]
        assert ledger.row.top_admitted_score is None  # whether more or less is better, nobody knows


def test_odd_scores_cost_themselves_and_nothing_else() -> None:
    class Odd(Relevant):
        def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            return list(zip(self.get_by_ids(["c1", "c2", "c3"]), [float("nan"), "0.5", None], strict=True))

    store = _filled(Odd)
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        assert len(store.similarity_search_with_score(QUERY)) == 3
        assert [hit.score for hit in ledger.hits] == [None, 0.5, None]
        assert ledger.row.flags == ("nonfinite_score",)


def test_the_classes_are_as_they_were_after_uninstall() -> None:
    class Fresh(Relevant):
        """Nobody has wrapped it yet."""

    before = dict(vars(Fresh))
    with memory_ledger() as ledger:
        observe(_filled(Fresh).as_retriever(), ledger, scores=True).invoke(QUERY)
        observe_store(_filled(Fresh), ledger)
    assert dict(vars(Fresh)) != before
    unlisten()
    assert dict(vars(Fresh)) == before


# --- observe_store -----------------------------------------------------------------------------------------

VECTOR = DeterministicFakeEmbedding(size=8).embed_query(QUERY)
CALLS: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "similarity_search": (lambda store: store.similarity_search(QUERY, 3), "similarity"),
    "similarity_search_with_score": (
        lambda store: store.similarity_search_with_score(QUERY, k=3),
        "similarity",
    ),
    "similarity_search_with_relevance_scores": (
        lambda store: store.similarity_search_with_relevance_scores(QUERY, k=3, score_threshold=0.0),
        "similarity",
    ),
    "similarity_search_by_vector": (
        lambda store: store.similarity_search_by_vector(VECTOR, k=3),
        "similarity",
    ),
    "similarity_search_with_score_by_vector": (
        lambda store: store.similarity_search_with_score_by_vector(VECTOR, k=3),
        "similarity",
    ),
    "max_marginal_relevance_search": (lambda store: store.max_marginal_relevance_search(QUERY, k=3), None),
    "max_marginal_relevance_search_by_vector": (
        lambda store: store.max_marginal_relevance_search_by_vector(VECTOR, k=3),
        None,
    ),
    "search": (lambda store: store.search(QUERY, "similarity", k=3), "similarity"),
    "asimilarity_search": (lambda store: store.asimilarity_search(QUERY, k=3), "similarity"),
    "asimilarity_search_with_score": (
        lambda store: store.asimilarity_search_with_score(QUERY, k=3),
        "similarity",
    ),
    "asimilarity_search_with_relevance_scores": (
        lambda store: store.asimilarity_search_with_relevance_scores(QUERY, k=3),
        "similarity",
    ),
    "asimilarity_search_by_vector": (
        lambda store: store.asimilarity_search_by_vector(VECTOR, k=3),
        "similarity",
    ),
    "amax_marginal_relevance_search": (lambda store: store.amax_marginal_relevance_search(QUERY, k=3), None),
    "amax_marginal_relevance_search_by_vector": (
        lambda store: store.amax_marginal_relevance_search_by_vector(VECTOR, k=3),
        None,
    ),
    "asearch": (lambda store: store.asearch(QUERY, "mmr", k=3), None),
}


def _called(call: Callable[[Any], Any], store: Any) -> Any:
    async def waited() -> Any:
        return await call(store)

    return asyncio.run(waited()) if call.__code__.co_names[0].startswith("a") else call(store)


@pytest.mark.parametrize("name", CALLS)
def test_p10_every_search_of_an_observed_store_is_one_row(name: str) -> None:
    call, kind = CALLS[name]
    store = vector_store()
    before = _plain(_called(call, store))
    with memory_ledger() as ledger:
        assert observe_store(store, ledger, corpus="handbook", surface="study") is store
        assert _plain(_called(call, store)) == before
        row = ledger.row
        assert (row.retriever, row.corpus, row.surface, row.depth) == ("Relevant", "handbook", "study", 0)
        assert (row.top_k, row.vector_available, row.candidate_count) == (3, True, 3)
        assert {hit.score_kind for hit in ledger.hits} == {kind or "none"}
        assert '"k":3' in row.weights
        assert ledger.facts()["faults"] == {}


def test_p3_an_observed_store_is_the_same_thing() -> None:
    store = vector_store()
    cls = type(store)
    signatures = {name: inspect.signature(getattr(cls, name)) for name in CALLS if hasattr(cls, name)}
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        assert type(store) is cls
        assert isinstance(store, InMemoryVectorStore)
        assert {name: inspect.signature(getattr(cls, name)) for name in signatures} == signatures
        for other in (copy.copy(store), copy.deepcopy(store), pickle.loads(pickle.dumps(store))):
            assert len(other.similarity_search(QUERY)) == 4
        assert len(ledger.searches) == 3  # a copy of an observed store is observed
        assert len(vector_store().similarity_search(QUERY)) == 4
        assert len(ledger.searches) == 3  # another one of its class is not


def test_p3_what_a_store_raises_comes_through_and_is_a_row() -> None:
    class Failing(Relevant):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            raise fault

    fault = ConnectionError("SECRET")
    store = _filled(Failing)
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        with pytest.raises(ConnectionError) as caught:
            store.similarity_search(QUERY)
        assert caught.value is fault
        assert (ledger.row.status, ledger.row.error_type) == ("error", "ConnectionError")
        with pytest.raises(TypeError):
            store.similarity_search()  # type: ignore[call-arg]
        assert [search.status for search in ledger.searches] == ["error", "error"]


def test_a_cancelled_search_of_a_store_is_a_row() -> None:
    class Slow(Relevant):
        async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            await asyncio.sleep(60)
            return []

    async def cancelled() -> None:
        task = asyncio.create_task(store.asimilarity_search(QUERY))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    store = _filled(Slow)
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        asyncio.run(cancelled())
        assert ledger.row.status == "cancelled"


@pytest.mark.parametrize("search_type", ["similarity", "similarity_score_threshold", "mmr"])
def test_p10_a_retriever_on_top_of_an_observed_store_is_one_row(search_type: str) -> None:
    store = vector_store()
    kwargs = {"score_threshold": 0.0} if search_type == "similarity_score_threshold" else {}
    retriever = store.as_retriever(search_type=search_type, search_kwargs=kwargs)
    with memory_ledger() as ledger:
        observe_store(store, ledger, corpus="below")
        retriever.invoke(QUERY)  # not observed itself
        observe(retriever, ledger, corpus="above").invoke(QUERY)
        asyncio.run(retriever.ainvoke(QUERY))
        assert [(search.retriever, search.corpus, search.depth) for search in ledger.searches] == [
            ("Relevant", "below", 0),
            ("VectorStoreRetriever", "above", 0),
            ("VectorStoreRetriever", "above", 0),
        ]
        # The store that is observed tells its retriever's search the scores, too.
        assert all((hit.score is None) is (search_type == "mmr") for hit in ledger.hits)


def test_a_store_inside_of_a_custom_retriever_is_a_search_below_it() -> None:
    store = vector_store()
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        observe(Calling(body=lambda query: store.similarity_search(query + "!")[:1]), ledger).invoke(QUERY)
        assert [(search.retriever, search.depth) for search in ledger.searches] == [
            ("Relevant", 1),
            ("Calling", 0),
        ]
        assert ledger.searches[1].vector_available is True


def test_spans_of_a_store_nest_in_those_around_it() -> None:
    spans = CapturedSpans()
    store = vector_store()
    with memory_ledger(tracer_provider=spans.provider) as ledger:
        observe_store(store, ledger)
        observe(Calling(body=store.similarity_search), ledger).invoke(QUERY)
    inner, outer = spans.finished
    assert inner.parent is not None
    assert inner.parent.span_id == outer.get_span_context().span_id


def test_suppressed_and_closed_ledgers_record_nothing() -> None:
    store = vector_store()
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        with ragledger.suppress():
            assert len(store.similarity_search(QUERY)) == 4
        assert ledger.searches == []
    assert len(store.similarity_search(QUERY)) == 4
    with pytest.raises(ConfigError):
        observe_store(store, ledger)


def test_only_a_vector_store_is_observed_as_one() -> None:
    with memory_ledger() as ledger, pytest.raises(TypeError, match="no LangChain VectorStore"):
        observe_store(vector_store().as_retriever(), ledger)  # type: ignore[type-var]


def test_p2_declared_weights_win_and_a_filter_is_named_never_kept() -> None:
    store = vector_store()
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        store.similarity_search(QUERY, k=2, filter=lambda item: item.id != "SECRET")
        observe_store(store, ledger, weights={"vector": 1.0, "top_k": 7}).similarity_search(QUERY)
        first, second = ledger.searches
        assert '"unknown":["filter"]' in first.weights
        assert "SECRET" not in first.weights
        assert '"source":"declared"' in second.weights
        assert (first.top_k, second.top_k) == (2, 7)  # as of a retriever
