"""A composite inside a composite: what shapes its ranking shapes that of the one around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, scored, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import (
    BaseRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.selectors import EmbeddingSingleSelector
from llama_index.core.tools import RetrieverTool

from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.weights import read


def _inner(weights: tuple[float, float] = (7.0, 3.0), k: int = 3, mode: str = "relative_score") -> Any:
    other = ListRetriever(scored(("x", 0.9), ("y", 0.2)))
    return _fusion([vector_index().as_retriever(similarity_top_k=k), other], weights, mode)


def _fusion(members: list[Any], weights: Any = None, mode: str = "simple", **more: Any) -> Any:
    return QueryFusionRetriever(
        members,
        mode=mode,
        retriever_weights=weights,
        num_queries=1,
        use_async=False,
        similarity_top_k=9,
        **more,
    )


def _searched(ledger: MemoryLedger, *members: BaseRetriever) -> tuple[list[str], dict[str, Any], str]:
    outer = _fusion(list(members), callback_manager=CallbackManager([LedgerCallbackHandler(ledger)]))
    found = outer.retrieve("text of a")
    row = [row for row in ledger.searches if row.depth == 0][-1]
    return [item.node.node_id for item in found], json.loads(row.weights), row.epoch


def test_its_parameters_are_effective_in_the_one_around_it(memory_ledger):
    _, weights, _ = _searched(memory_ledger, _inner(), ListRetriever(scored(("z", 0.5))))
    [inner, other] = weights["effective"]["member_settings"]
    assert other is None
    assert inner == {
        "mode": "relative_score",
        "num_queries": 1,
        "similarity_top_k": 9,
        "retriever_weights": [0.7, 0.3],
        "members": ["VectorIndexRetriever", "ListRetriever"],
        "member_settings": [{"mode": "default", "similarity_top_k": 3}, None],
    }
    assert weights["unknown"] == ["member_1.member_2", "member_2"]


@pytest.mark.parametrize(
    "other",
    [{"weights": (1.0, 9.0)}, {"k": 1}, {"mode": "reciprocal_rerank"}],
    ids=["weights", "k of its member", "mode"],
)
def test_another_value_in_it_is_another_ranking_and_another_epoch(memory_ledger, other):
    order, _, epoch = _searched(memory_ledger, _inner())
    changed, _, other_epoch = _searched(memory_ledger, _inner(**other))
    assert order != changed
    assert epoch != other_epoch


def _composites(inner: Any) -> list[BaseRetriever]:
    tool = RetrieverTool.from_defaults(inner, description="any")
    selector = EmbeddingSingleSelector.from_defaults()
    return [
        _fusion([inner]),
        RouterRetriever(selector=selector, retriever_tools=[tool]),
        RecursiveRetriever("root", {"root": inner}),
        TransformRetriever(inner, query_transform=lambda query, metadata=None: query),
    ]


@pytest.mark.parametrize("place", range(4))
def test_it_is_read_whatever_composite_is_around_it(place):
    [around] = _composites(_inner())[place : place + 1]
    [settings] = read(around).weights.effective["member_settings"]
    assert settings["retriever_weights"] == (0.7, 0.3)
    assert "member_1.member_2" in read(around).weights.unknown


def test_what_cannot_be_said_of_a_member_is_named_with_its_place():
    filtered = vector_index().as_retriever(doc_ids=["SECRET"])
    unknown = read(_fusion([_fusion([filtered]), filtered])).weights.unknown
    assert unknown == ("member_1.member_1.doc_ids", "member_2.doc_ids")


def test_so_many_levels_are_read_and_the_next_is_named():
    inner = vector_index().as_retriever()
    for _ in range(4):
        inner = _fusion([inner])
    with memory_ledger() as ledger:
        _, weights, _ = _searched(ledger, inner)
        assert weights["unknown"] == ["member_1.member_1.member_1.member_settings"]


def test_one_that_holds_itself_is_read_to_an_end():
    knot = RecursiveRetriever("root", {"root": ListRetriever([])})
    knot._retriever_dict["again"] = knot
    assert "member_2.member_2.member_2.member_settings" in read(knot).weights.unknown
