"""P2: the weights that were in force, by value; configured and effective apart, unknown left unknown."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.langchain.world import Keywords, Listed, Table, documents, vector_store
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever

from ragledger import Call, Ledger, Reading, Weights, extractor
from ragledger_langchain import observe
from ragledger_langchain.weights import read


def _read(retriever: Any, *, asynchronous: bool = False, **kwargs: Any) -> Reading:
    return read(retriever, Call(kwargs, asynchronous))


def _retriever(search_type: str = "similarity", store: Any = None, **search_kwargs: Any) -> Any:
    return VectorStoreRetriever(
        vectorstore=store or vector_store(), search_type=search_type, search_kwargs=search_kwargs
    )


@pytest.mark.parametrize(
    ("search_type", "given", "effective", "unknown"),
    [
        ("similarity", {}, {"k": 4}, ()),
        ("similarity", {"k": 7}, {"k": 7}, ()),
        ("similarity", {"k": 7, "fetch_k": 30, "lambda_mult": 0.1}, {"k": 7}, ("fetch_k", "lambda_mult")),
        ("similarity", {"score_threshold": 0.5}, {"k": 4}, ("score_threshold",)),
        ("similarity_score_threshold", {"score_threshold": 0.5}, {"k": 4, "score_threshold": 0.5}, ()),
        ("similarity_score_threshold", {"score_threshold": 0.0}, {"k": 4, "score_threshold": 0.0}, ()),
        ("mmr", {}, {"k": 4, "fetch_k": 20, "lambda_mult": 0.5}, ()),
        ("mmr", {"k": 2, "fetch_k": 9}, {"k": 2, "fetch_k": 9, "lambda_mult": 0.5}, ()),
        ("mmr", {"score_threshold": 0.5}, {"k": 4, "fetch_k": 20, "lambda_mult": 0.5}, ("score_threshold",)),
    ],
)
def test_a_vector_store_retriever_says_what_is_in_force(
    search_type: str, given: dict[str, Any], effective: dict[str, Any], unknown: tuple[str, ...]
) -> None:
    reading = _read(_retriever(search_type, **given))
    assert reading.weights.configured == {"search_type": search_type} | given
    assert reading.weights.effective == {"search_type": search_type} | effective
    assert (reading.weights.source, reading.weights.unknown) == ("extracted", unknown)
    assert (reading.top_k, reading.dense) == (effective["k"], True)


def test_every_effective_value_changes_what_comes_back() -> None:
    def found(search_type: str, **given: Any) -> list[str | None]:
        return [item.id for item in _retriever(search_type, **given).invoke("a question")]

    assert found("similarity", k=3) != found("similarity", k=4)
    assert found("mmr", k=4, fetch_k=20, lambda_mult=0.0) != found("mmr", k=4, fetch_k=20, lambda_mult=1.0)
    assert found("mmr", k=4, fetch_k=5, lambda_mult=0.0) != found("mmr", k=4, fetch_k=20, lambda_mult=0.0)


def test_the_default_is_that_of_the_method_which_is_called() -> None:
    class Ten(InMemoryVectorStore):
        def similarity_search(self, query: str, k: int = 10, **kwargs: Any) -> list[Document]:
            return super().similarity_search(query, k, **kwargs)

    class Undecided(Ten):
        def similarity_search(self, query: str, k: Any = None, **kwargs: Any) -> list[Document]:
            return super().similarity_search(query, k or 6, **kwargs)

    embedding = vector_store().embedding
    assert _read(_retriever(store=Ten(embedding))).top_k == 10
    assert _read(_retriever(store=Ten(embedding)), asynchronous=True).top_k == 4
    undecided = _read(_retriever(store=Undecided(embedding)))
    assert (undecided.top_k, undecided.weights.unknown) == (None, ("k",))


def test_values_that_are_no_numbers_are_unknown_and_never_kept() -> None:
    reading = _read(
        _retriever(k=np.int64(3), fetch_k="SECRET", lambda_mult=object(), filter={"ssn": "SECRET"})
    )
    assert reading.weights.configured == {"search_type": "similarity", "k": 3}
    assert set(reading.weights.unknown) == {"fetch_k", "lambda_mult", "filter"}
    assert type(reading.top_k) is int
    assert "SECRET" not in repr(reading)


def test_d44_per_call_arguments_win_where_the_class_takes_them(ledger: Ledger, table: Table) -> None:
    vector = observe(_retriever(k=3), ledger)
    assert len(vector.invoke("q", k=1)) == 1
    ensemble = observe(_ensemble(vector), ledger)
    ensemble.invoke("q", k=1)
    alone, root, *members = table.searches()
    assert (alone["top_k"], alone["weights"]["effective"]["k"]) == (1, 1)
    assert root["top_k"] is None
    assert {row["top_k"] for row in members if row["retriever"] == "VectorStoreRetriever"} == {3}


def test_p2_a_per_call_k_changes_no_epoch_and_a_threshold_does(ledger: Ledger, table: Table) -> None:
    retriever = observe(_retriever("similarity_score_threshold", score_threshold=0.1), ledger)
    retriever.invoke("q")
    retriever.invoke("q", k=1)
    retriever.invoke("q", score_threshold=0.9)
    first, fewer, stricter = table.searches()
    assert first["epoch"] == fewer["epoch"] != stricter["epoch"]
    assert (first["top_k"], fewer["top_k"]) == (4, 1)


def test_p2_weights_are_a_copy_taken_when_the_search_began(ledger: Ledger, table: Table) -> None:
    class Greedy(Listed):
        on_search: Any

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            self.on_search()
            return documents("a")

    ensemble = _ensemble(Greedy(on_search=lambda: ensemble.weights.__setitem__(0, 0.1)))
    observe(ensemble, ledger).invoke("q")
    assert table.roots()[0]["weights"]["effective"]["weights"] == [0.7, 0.3]


def test_an_ensemble_says_how_it_fuses_and_what_its_members_give() -> None:
    bound = _retriever("mmr", k=5).bind(k=2)
    weights = _read(_ensemble(bound, c=30)).weights
    assert weights.effective == {
        "fusion": "reciprocal_rank",
        "weights": [0.7, 0.3],
        "c": 30,
        "id_key": None,
        "members": ["VectorStoreRetriever", "Keywords"],
        "member_settings": [{"search_type": "mmr", "k": 2, "fetch_k": 20, "lambda_mult": 0.5}, None],
    }
    assert weights.unknown == ("member_2",)


def test_ensembles_in_ensembles_can_be_written(ledger: Ledger, table: Table) -> None:
    inner = _ensemble(_ensemble(_retriever(k=3)))
    observe(_ensemble(inner), ledger).invoke("q")
    assert all(
        row["weights"]["source"] != "unknown" for row in table.searches("retriever = 'EnsembleRetriever'")
    )
    assert [row["flags"] for row in table.searches("depth = 0")] == [[]]


def test_the_order_of_an_ensemble_follows_from_its_recorded_weights() -> None:
    """Replay: weight / (c + rank), summed, gives the order that came back."""
    members = [_retriever(k=6), Keywords(docs=documents("c3", "x", "c1"))]
    ensemble = _ensemble(members[0], members[1], c=5)
    effective = _read(ensemble).weights.effective
    scores: dict[str, float] = {}
    for member, weight in zip(members, effective["weights"], strict=True):
        for rank, item in enumerate(member.invoke("q"), 1):
            scores[item.page_content] = scores.get(item.page_content, 0) + weight / (effective["c"] + rank)
    assert [item.page_content for item in ensemble.invoke("q")] == sorted(
        scores, key=scores.get, reverse=True
    )  # type: ignore[arg-type]


def test_an_unknown_class_is_unknown(ledger: Ledger, table: Table) -> None:
    observe(Listed(found=documents("a")), ledger).invoke("q")
    row = table.one()
    assert row["weights"] == {"configured": {}, "effective": {}, "source": "unknown", "unknown": []}
    assert (row["top_k"], row["vector_available"], row["extractor_version"]) == (None, None, None)


def test_a_subclass_with_its_own_search_is_configured_but_not_effective() -> None:
    class Own(VectorStoreRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
            return []

    class Same(VectorStoreRetriever):
        note: str = ""

    own = _read(Own(vectorstore=vector_store(), search_kwargs={"k": 3}))
    assert (own.weights.source, own.weights.configured["k"], own.weights.effective) == ("unknown", 3, {})
    assert (own.top_k, own.dense) == (None, None)
    assert _read(Same(vectorstore=vector_store(), search_kwargs={"k": 3})).top_k == 3


def test_p2_declared_weights_win(ledger: Ledger, table: Table) -> None:
    given = {"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "top_k": 10}
    retriever = observe(_retriever(k=3), ledger, weights=given)
    given["vector"] = 9
    retriever.invoke("q")
    row = table.one()
    assert row["weights"]["source"] == "declared"
    assert row["weights"]["effective"] == {"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "top_k": 10}
    assert (row["top_k"], row["vector_available"]) == (10, True)
    with pytest.raises(TypeError):
        observe(retriever, ledger, weights={"vector": object()})


def test_a_third_party_teaches_its_class(ledger: Ledger, table: Table) -> None:
    class Hybrid(Listed):
        alpha: float = 0.3

    def extract(retriever: Any, call: Call) -> Reading:
        settings = {"alpha": retriever.alpha}
        weights = Weights(
            configured=settings,
            effective=settings,
            source="extracted",
            ranking=frozenset({"alpha"}),
            extractor="acme.Hybrid/1",
        )
        return Reading(weights, call.kwargs.get("k", 5))

    extractor(f"{Hybrid.__module__}.{Hybrid.__qualname__}")(extract)
    observe(Hybrid(found=documents("a")), ledger).invoke("q", k=2)
    row = table.one()
    assert (row["weights"]["effective"], row["extractor_version"], row["top_k"]) == (
        {"alpha": 0.3},
        "acme.Hybrid/1",
        2,
    )


# --- vector_available --------------------------------------------------------------------------------------


class _FailingEmbedding:
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("provider down")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]


class _WithoutEmbedding(VectorStore):
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        if query == "fail":
            raise ConnectionError("store down")
        return documents("a")

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("store", "query", "available"),
    [
        (vector_store, "q", True),
        (lambda: vector_store(0), "q", True),
        (lambda: InMemoryVectorStore(_FailingEmbedding()), "q", False),  # type: ignore[arg-type]
        (_WithoutEmbedding, "q", None),
        (_WithoutEmbedding, "fail", None),
    ],
)
def test_p8_vector_available_is_known_unknown_or_false(
    store: Callable[[], Any], query: str, available: bool | None, ledger: Ledger, table: Table
) -> None:
    retriever = observe(_retriever(store=store()), ledger)
    with contextlib.suppress(ConnectionError):
        retriever.invoke(query)
    assert table.one()["vector_available"] is available


def test_no_framework_package_is_imported_to_match_a_class() -> None:
    import ragledger_langchain.weights

    sources = [
        path.read_text(encoding="utf-8")
        for path in Path(ragledger_langchain.weights.__file__).parent.glob("*.py")
    ]
    assert len(sources) > 5
    for source in sources:
        assert "import langchain" not in source
        assert "from langchain" not in source


def _ensemble(*members: Any, c: int = 60) -> Any:
    classic = pytest.importorskip("langchain_classic.retrievers")
    given = list(members) if len(members) == 2 else [*members, Keywords(docs=documents("c1", "x", "y"))]
    return classic.EnsembleRetriever(retrievers=given, weights=[0.7, 0.3], c=c)
