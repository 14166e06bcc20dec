"""The frozen copy: configured and effective apart, unknown left unknown, the epoch by ranking parameters alone."""

from __future__ import annotations

import contextlib
from enum import Enum
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, node, scored, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from ragledger import Call, Reading, Weights, extractor
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.weights import read

pytestmark = pytest.mark.pg

A = (("n0", 0.9), ("n1", 0.5), ("n2", 0.4))
B = (("n2", 0.95), ("n1", 0.3), ("n0", 0.1))


def fusion(mode: Any, weights: list[float] | None = None, **kwargs: Any) -> QueryFusionRetriever:
    members = [ListRetriever(scored(*A)), ListRetriever(scored(*B))]
    kwargs = {"num_queries": 1, "use_async": False, "similarity_top_k": 3} | kwargs
    return QueryFusionRetriever(members, mode=mode, retriever_weights=weights, **kwargs)


def order(mode: Any, weights: list[float]) -> list[str]:
    return [item.node.node_id for item in fusion(mode, weights).retrieve("q")]


def test_p2_a_vector_retriever_as_it_was_at_that_moment(ledger, manager, rows):
    retriever = vector_index(manager=manager).as_retriever(similarity_top_k=4, alpha=0.3)
    retriever.retrieve("q")
    [(weights, version, top_k)] = rows("weights, extractor_version, top_k", ledger)
    assert weights == {
        "configured": {"mode": "default", "similarity_top_k": 4, "alpha": 0.3},
        "effective": {"mode": "default", "similarity_top_k": 4},  # alpha is for hybrid modes
        "source": "extracted",
        "unknown": [],
    }
    assert (version, top_k) == ("llama_index.VectorIndexRetriever/2", 4)


class HybridStore(SimpleVectorStore):
    """A store that nobody has told us about."""

    def query(self, query: Any, **kwargs: Any) -> VectorStoreQueryResult:
        return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])


def test_hybrid_settings_of_an_unknown_store_are_believed(ledger, manager, rows):
    retriever = vector_index(manager=manager).as_retriever(
        vector_store_query_mode="hybrid", alpha=0.3, sparse_top_k=20, filters=_secret_filter()
    )
    retriever._vector_store = HybridStore()
    retriever.retrieve("q")
    [weights] = rows("weights", ledger)
    assert weights["effective"] == {
        "mode": "hybrid", "similarity_top_k": 2, "alpha": 0.3, "sparse_top_k": 20
    }  # fmt: skip
    # Not given: the store's own default. A filter holds personal data, so that its name is all we say.
    assert weights["unknown"] == ["hybrid_top_k", "filters"]
    assert "SECRET" not in str(weights)


def test_settings_of_the_store_are_read_by_name_and_others_are_not(ledger, manager, rows):
    kwargs = {"mmr_threshold": 0.2, "SECRET-K": "SECRET-V"}
    index = vector_index(manager=manager)
    index.as_retriever(vector_store_query_mode="mmr", vector_store_kwargs=kwargs).retrieve("q")
    [weights] = rows("weights", ledger)
    assert weights["effective"]["mmr_threshold"] == 0.2
    assert weights["unknown"] == ["vector_store_kwargs"]
    assert "SECRET" not in str(weights)


def test_the_store_trains_the_same_learner_in_every_such_mode(monkeypatch):
    from llama_index.core.vector_stores import simple

    asked: list[set[str]] = []

    def learner(*_: Any, **kwargs: Any) -> Any:
        asked.append(set(kwargs))
        return [], []

    monkeypatch.setattr(simple, "get_top_k_embeddings_learner", learner)
    retriever = vector_index().as_retriever(vector_store_query_mode="linear_regression")
    with contextlib.suppress(ValueError):  # no nodes
        retriever.retrieve("q")
    assert asked == [{"similarity_top_k", "embedding_ids"}]  # which learner is never said
    assert read(retriever).weights.effective["mode"] == "svm"


def test_nodes_that_the_index_has_got_since_are_out_of_reach_and_said_to_be():
    index = vector_index()
    retriever = index.as_retriever()
    assert read(retriever).weights.unknown == ()
    index.insert_nodes([node("new")])
    assert read(retriever).weights.unknown == ("node_ids",)


def _secret_filter() -> MetadataFilters:
    return MetadataFilters(
        filters=[MetadataFilter(key="owner", value="SECRET-F", operator=FilterOperator.EQ)]
    )


def test_the_epoch_is_unchanged_by_top_k_and_changed_by_the_mode(ledger, manager, rows):
    index = vector_index(manager=manager)
    retriever = index.as_retriever(similarity_top_k=2)
    retriever.retrieve("q")
    retriever.similarity_top_k = 5
    retriever.retrieve("q")
    index.as_retriever(similarity_top_k=2, vector_store_query_mode=VectorStoreQueryMode.MMR).retrieve("q")
    (first, k1), (second, k2), (third, _) = rows("epoch, top_k", ledger)
    assert (k1, k2) == (2, 5)
    assert first == second != third


def test_an_alpha_that_has_no_effect_changes_no_epoch(ledger, manager, rows):
    index = vector_index(manager=manager)
    index.as_retriever(alpha=0.1).retrieve("q")
    index.as_retriever(alpha=0.9).retrieve("q")
    first, second = rows("epoch", ledger)
    assert first == second


def test_d43_reciprocal_rerank_ignores_its_weights(ledger, manager, rows):
    retriever = fusion("reciprocal_rerank", [9.0, 1.0])
    retriever.callback_manager = manager
    retriever.retrieve("q")
    [weights] = rows("weights", ledger, where="depth = 0")
    assert weights["configured"]["retriever_weights"] == [0.9, 0.1]
    assert weights["effective"] == {
        "mode": "reciprocal_rerank", "num_queries": 1, "similarity_top_k": 3, "rrf_k": 60,
        "members": ["ListRetriever", "ListRetriever#2"], "member_settings": [None, None],
    }  # fmt: skip
    assert weights["unknown"] == ["member_1", "member_2"]


@pytest.mark.parametrize("mode", ["relative_score", "dist_based_score"])
def test_weights_are_effective_exactly_where_they_change_the_ranking(mode):
    effective = read(fusion(mode, [9.0, 1.0])).weights.effective
    assert effective["retriever_weights"] == (0.9, 0.1)
    assert order(mode, [9.0, 1.0]) != order(mode, [1.0, 9.0])


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "simple"])
def test_weights_are_not_effective_where_they_change_nothing(mode):
    assert "retriever_weights" not in read(fusion(mode, [9.0, 1.0])).weights.effective
    assert order(mode, [9.0, 1.0]) == order(mode, [1.0, 9.0])


def test_the_constant_of_reciprocal_rerank_is_the_one_in_the_scores():
    one = QueryFusionRetriever(
        [ListRetriever(scored(*A))], mode="reciprocal_rerank", num_queries=1, use_async=False
    )
    effective = read(one).weights.effective
    scores = [item.score for item in one.retrieve("q")]
    assert scores == [pytest.approx(1 / (rank + effective["rrf_k"])) for rank in range(len(scores))]


def test_p2_the_list_of_weights_is_copied_before_the_search_runs(ledger, manager, rows):
    retriever = fusion("relative_score", [1.0, 1.0])
    retriever.callback_manager = manager

    def tampering(_: Any) -> Any:
        retriever._retriever_weights[0] = 0.99
        return scored(*A)

    retriever._retrievers[0] = BodyRetriever(tampering)
    retriever.retrieve("q")
    [weights] = rows("weights", ledger, where="depth = 0")
    assert weights["effective"]["retriever_weights"] == [0.5, 0.5]


def test_a_mode_given_as_text_or_as_an_enum_is_the_same(ledger):
    class Other(str, Enum):
        SIMPLE = "simple"

    assert read(fusion("simple")).weights == read(fusion(Other.SIMPLE)).weights


def test_fused_scores_are_called_fused_and_the_constituents_are_not(ledger, manager, database):
    retriever = fusion("reciprocal_rerank")
    retriever.callback_manager = manager
    retriever.retrieve("q")
    assert ledger.flush()
    found = database.rows("SELECT DISTINCT depth, score_kind FROM hits JOIN searches USING (search_id)")
    assert sorted(found) == [(0, "fused"), (1, "similarity")]


def test_p8_an_unknown_class_says_unknown(ledger, manager, rows):
    ListRetriever(scored(*A), callback_manager=manager).retrieve("q")
    assert rows("weights, extractor_version, top_k, flags", ledger) == [
        ({"configured": {}, "effective": {}, "source": "unknown", "unknown": []}, None, None, [])
    ]


def test_a_subclass_with_a_search_of_its_own_is_configured_but_not_effective():
    class Plain(VectorIndexRetriever):
        pass

    class Own(Plain):
        def _retrieve(self, query_bundle: Any) -> Any:
            return []

    index = vector_index()
    assert read(Plain(index)) == read(VectorIndexRetriever(index))
    own = read(Own(index))
    assert (own.weights.source, own.weights.unknown, own.weights.effective) == ("unknown", ("effective",), {})
    assert own.weights.configured["mode"] == "default"
    assert (own.top_k, own.dense) == (None, None)


def test_a_third_party_registers_an_extractor_for_its_class(ledger, rows):
    class Mine(ListRetriever):
        boost = 2.5

    @extractor(f"{Mine.__module__}.{Mine.__qualname__}")
    def _mine(retriever: Any, call: Call) -> Reading:
        settings = {"boost": retriever.boost}
        return Reading(
            Weights(
                configured=settings,
                effective=settings,
                source="extracted",
                ranking=frozenset(settings),
                extractor="mine/1",
            ),
            top_k=7,
            score_kind="distance",
        )

    manager = CallbackManager([LedgerCallbackHandler(ledger)])
    Mine(scored(*A), callback_manager=manager).retrieve("q")
    [(weights, top_k, version, best)] = rows("weights, top_k, extractor_version, top_admitted_score", ledger)
    assert weights["effective"] == {"boost": 2.5}
    assert (top_k, version, best) == (7, "mine/1", 0.4)  # the smallest distance is the best


def test_declared_weights_win_over_extracted_ones(ledger, manager, rows):
    import ragledger

    index = vector_index(manager=manager)

    class Declaring(VectorIndexRetriever):
        def _retrieve(self, query_bundle: Any) -> Any:
            ragledger.current().declare(weights={"vector": 0.6, "lexical": 0.4}, top_k=9)
            return super()._retrieve(query_bundle)

    Declaring(index, callback_manager=manager).retrieve("q")
    [(weights, top_k)] = rows("weights, top_k", ledger)
    assert (weights["source"], weights["effective"], top_k) == (
        "declared",
        {"vector": 0.6, "lexical": 0.4},
        9,
    )
