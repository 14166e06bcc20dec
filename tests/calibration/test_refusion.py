from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calibration.some_pairs import fusion
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_postgres.v2.hybrid_search_config import weighted_sum_ranking

from ragledger.measures.refusion import Fusion, Unreadable, features, fusion_of, ranges_of

BOTH = {"vector", "lexical"}
MEMBERS = {"members": ["BM25Retriever", "VectorStoreRetriever"]}


def test_declared_weights_are_a_weighted_sum_of_raw_scores() -> None:
    found = fusion_of({"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "candidates_per_signal": 20}, BOTH)
    assert found == Fusion(
        kind="linear", names=("vector", "lexical"), weights=(0.6, 0.4), keys=("vector", "lexical")
    )


@pytest.mark.parametrize(
    ("effective", "kind", "scale", "constant", "names"),
    [
        ({"vector": 0.6, "lexical": 0.4, "fusion": "rrf", "rrf_k": 10}, "reciprocal_rank", "raw", 10.0, ("vector", "lexical")),
        ({"vector": 0.6, "lexical": 0.4, "fusion": "rrf"}, "reciprocal_rank", "raw", 60.0, ("vector", "lexical")),
        ({"vector": 0.6, "lexical": 0.4, "fusion": "rrf", "rrf_k": 0}, "reciprocal_rank", "raw", 0.0, ("vector", "lexical")),
        ({"vector": 0.6, "lexical": 0.4, "normaliser": "min_max"}, "linear", "min_max", None, ("vector", "lexical")),
        ({"vector_weight": 1, "lexical_weight": 2}, "linear", "raw", None, ("vector", "lexical")),
        ({"weights": [0.5, 0.5], "c": 60, "fusion": "reciprocal_rank", **MEMBERS}, "reciprocal_rank", "raw", 60.0, tuple(MEMBERS["members"])),
        ({"retriever_weights": [0.9, 0.1], "mode": "relative_score", **MEMBERS}, "linear", "min_max", None, tuple(MEMBERS["members"])),
        ({"retriever_weights": [0.9, 0.1], "mode": "dist_based_score", **MEMBERS}, "linear", "deviation", None, tuple(MEMBERS["members"])),
        ({"fusion": "weighted_sum", "primary_results_weight": 0.7, "secondary_results_weight": 0.3}, "linear", "min_max", None, ("vector", "lexical")),
    ],
)  # fmt: skip
def test_what_runs_is_read_from_the_effective_weights(
    effective: dict[str, Any], kind: str, scale: str, constant: float | None, names: tuple[str, ...]
) -> None:
    found = fusion_of(effective, BOTH)
    assert isinstance(found, Fusion)
    assert (found.kind, found.scale, found.constant, found.names) == (kind, scale, constant, names)


@pytest.mark.parametrize(
    ("effective", "words"),
    [
        ({}, "no weight of a logged signal is effective"),
        ({"mode": "reciprocal_rerank", "rrf_k": 60, **MEMBERS}, r"no weight .* \(mode reciprocal_rerank\)"),
        ({"vector": 0.6, "rerank": 0.4}, "only one signal has a weight: vector"),
        ({"vector": True, "lexical": 0.4}, "only one signal has a weight: lexical"),
        ({"vector": -0.6, "lexical": 0.4}, "negative"),
        ({"vector": 0, "lexical": 0}, "all of them are 0"),
        ({"weights": [0.1] * 9, "members": list("abcdefghi")}, "9 signals have a weight, and at most 8"),
        ({"weights": [0.5, 0.3, 0.2], **MEMBERS}, "which signal each of them belongs to"),
        ({"weights": [0.5, 0.5], "members": None}, "which signal each of them belongs to"),
        ({"weights": [0.5, 0.5], "members": 5}, "which signal each of them belongs to"),
        ({"weights": [0.5, 0.5], "members": "ab"}, "which signal each of them belongs to"),
        ({"vector": 0.6, "lexical": 0.4, "fusion": "rrf", "rrf_k": -1}, "the constant .* is negative"),
        (
            {"vector": 0.6, "lexical": 0.4, "normaliser": "softmax"},
            "the normaliser 'softmax' cannot be redone",
        ),
        ({"vector": 0.6, "lexical": 0.4, "normaliser": [1]}, "cannot be redone"),
    ],
)
def test_what_cannot_be_read_has_a_reason(effective: dict[str, Any], words: str) -> None:
    found = fusion_of(effective, BOTH)
    assert isinstance(found, Unreadable)
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(found.reason)


def test_a_constant_of_0_is_0_when_it_is_redone() -> None:
    running = fusion_of({"vector": 0.6, "lexical": 0.4, "fusion": "rrf", "rrf_k": 0}, BOTH)
    assert isinstance(running, Fusion)
    assert features(np.array([[1.0, 4.0]]), np.zeros((1, 2, 2)), running).tolist() == [[1.0, 0.25]]


def test_settings_keep_their_form_and_their_sum() -> None:
    assert fusion(0.9, 0.1).settings([0.25, 0.75]) == {"vector": 0.25, "lexical": 0.75}
    assert fusion(1.8, 0.2).settings([0.25, 0.75]) == {"vector": 0.5, "lexical": 1.5}
    assert fusion(0.5, 0.5, keys=("weights",)).settings([0.25, 0.75]) == {"weights": [0.25, 0.75]}
    assert fusion(0.99, 0.01).settings([0.9954321, 0.0045679]) == {"vector": 0.995432, "lexical": 0.004568}


class _Nobody(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise NotImplementedError


def test_ranks_are_fused_as_langchain_fuses_them() -> None:
    first, second = ["a", "b", "c", "d"], ["c", "a", "d", "b"]
    ensemble = EnsembleRetriever(retrievers=[_Nobody(), _Nobody()], weights=[0.7, 0.3], c=5)
    lists = [[Document(page_content=text) for text in texts] for texts in (first, second)]
    expected = [document.page_content for document in ensemble.weighted_reciprocal_rank(lists)]
    said = np.array([[first.index(text) + 1.0, second.index(text) + 1.0] for text in "abcd"])
    running = fusion(0.7, 0.3, kind="reciprocal_rank", constant=5.0)
    fused = features(said, np.zeros((4, 2, 2)), running) @ [0.7, 0.3]
    assert [text for _, text in sorted(zip(-fused, "abcd", strict=True))] == expected
    assert fused[0] == pytest.approx(0.7 / 6 + 0.3 / 7)


def test_scaled_scores_are_fused_as_langchain_postgres_fuses_them() -> None:
    dense, sparse = {"a": 0.10, "b": 0.35, "c": 0.60}, {"a": 1.0, "b": 4.0, "c": 2.0}
    rows: Any = [[{"id": k, "distance": v} for k, v in scores.items()] for scores in (dense, sparse)]
    expected = {
        row["id"]: row["distance"]
        for row in weighted_sum_ranking(*rows, primary_results_weight=0.7, secondary_results_weight=0.3)
    }
    running = fusion_of(
        {"fusion": "weighted_sum", "primary_results_weight": 0.7, "secondary_results_weight": 0.3}, BOTH
    )
    assert isinstance(running, Fusion)
    said = np.array([[1 - dense[key], sparse[key]] for key in dense])  # as the adapter records them
    column = {
        name: {"min": float(c.min()), "max": float(c.max())}
        for name, c in zip(BOTH_IN_ORDER, said.T, strict=True)
    }
    ranges = np.array([ranges_of(column, running)] * 3)
    fused = features(said, ranges, running) @ [0.7, 0.3]
    assert dict(zip(dense, fused, strict=True)) == pytest.approx(expected)


BOTH_IN_ORDER = ("vector", "lexical")


def test_three_deviations_either_side_are_what_dist_based_score_scales_by() -> None:
    column = {"vector": {"mean": 0.5, "deviation": 0.1}, "lexical": {"mean": 2.0, "deviation": 0.5}}
    running = fusion(0.5, 0.5, scale="deviation")
    ranges = np.array([ranges_of(column, running)])
    assert features(np.array([[0.5, 3.5]]), ranges, running)[0] == pytest.approx([0.5, 1.0])


@pytest.mark.parametrize("signals", [None, {}, {"vector": {"min": 0.1, "max": None}}])
def test_a_range_that_is_not_known_makes_no_score(signals: Any) -> None:
    running = fusion(0.5, 0.5, scale="min_max")
    assert np.isnan(features(np.array([[0.5, 3.5]]), np.array([ranges_of(signals, running)]), running)).all()
