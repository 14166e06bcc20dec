"""What a score is, where it was found, and which signal it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapters.llama_index.doubles import ListRetriever, node, vector_index
from adapters.llama_index.zoo import bm25
from llama_index.core.schema import NodeWithScore

from ragledger import Call, Reading, extractor
from ragledger_llama_index.weights import read


def assigned(value: Any) -> NodeWithScore:
    """A score that was set later, which LlamaIndex does not check."""
    item = NodeWithScore(node=node("a"), score=None)
    item.__dict__["score"] = value
    return item


class Dense(ListRetriever):
    """Its scores are similarities of vectors."""


@extractor(f"{Dense.__module__}.{Dense.__qualname__}")
def _dense(retriever: Any, call: Call) -> Reading:
    return Reading(signal="vector", score_kind="similarity")


class Far(ListRetriever):
    """Its scores are distances."""


@extractor(f"{Far.__module__}.{Far.__qualname__}")
def _far(retriever: Any, call: Call) -> Reading:
    return Reading(score_kind="distance")


@pytest.mark.parametrize(
    ("value", "score", "kind", "flags"),
    [
        (0.0, 0.0, "similarity", ()),
        (-1.5, -1.5, "similarity", ()),
        (3, 3.0, "similarity", ()),
        (np.float32(0.25), 0.25, "similarity", ()),
        (np.int64(2), 2.0, "similarity", ()),
        (None, None, "none", ()),
        (float("nan"), None, "none", ("nonfinite_score",)),
        (float("-inf"), None, "none", ("nonfinite_score",)),
        (np.float64("inf"), None, "none", ("nonfinite_score",)),
    ],
    ids=repr,
)
def test_p8_score_and_signal_are_the_same_number_or_both_unknown(
    memory_ledger, memory_manager, value, score, kind, flags
):
    Dense([assigned(value)], callback_manager=memory_manager).retrieve("q")
    [hit] = memory_ledger.hits
    assert (hit.score, hit.vector_score, hit.lexical_score, hit.score_kind) == (score, score, None, kind)
    assert memory_ledger.row.flags == flags
    assert hit.score_source == ("unavailable" if value is None else "node.score")


@pytest.mark.parametrize("value", ["high", b"high", [0.3], object()], ids=lambda value: type(value).__name__)
def test_p8_what_is_no_number_is_unknown_and_its_text_is_nowhere(memory_ledger, memory_manager, value):
    Dense([assigned(value)], callback_manager=memory_manager).retrieve("q")
    [hit] = memory_ledger.hits
    assert (hit.score, hit.vector_score, hit.score_kind) == (None, None, "none")
    assert memory_ledger.row.flags == ("unreadable_score",)
    assert "high" not in str(memory_ledger.row)


def test_text_that_is_a_number_is_the_number_whether_the_framework_or_we_read_it(
    memory_ledger, memory_manager
):
    Dense([NodeWithScore(node=node("a"), score="0.3")], callback_manager=memory_manager).retrieve("q")
    assert memory_ledger.hits[0].score == 0.3


def test_of_distances_the_smallest_is_the_best(memory_ledger, memory_manager):
    items = [NodeWithScore(node=node(name), score=score) for name, score in (("a", 0.1), ("b", 0.7))]
    Far(items, callback_manager=memory_manager).retrieve("q")
    assert {hit.score_kind for hit in memory_ledger.hits} == {"distance"}
    assert {hit.vector_score for hit in memory_ledger.hits} == {None}
    assert memory_ledger.row.top_admitted_score == 0.1


def test_a_dense_search_has_the_vector_signal_in_the_short_form_and_item_by_item(
    memory_ledger, memory_manager
):
    index = vector_index(manager=memory_manager)
    index.as_retriever().retrieve("text of a")
    memory_ledger.chunk_id_key = "none"
    index.as_retriever().retrieve("text of a")
    short, long = ([hit.vector_score for hit in row.hit_rows] for row in memory_ledger.searches)
    assert short == long == [hit.score for hit in memory_ledger.searches[0].hit_rows]
    assert None not in short


def test_scores_of_a_diverse_choice_are_no_signal():
    assert read(vector_index().as_retriever(vector_store_query_mode="mmr")).signal is None
    assert read(vector_index().as_retriever()).signal == "vector"
    assert read(bm25()).signal == "lexical"
