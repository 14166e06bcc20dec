"""Composite retrievers: one row of depth 0, the members below it, and what the framework makes of their items."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.llama_index import zoo, zoo_graphs
from adapters.llama_index.doubles import ListRetriever, node, scored, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.retrievers import TransformRetriever
from llama_index.core.schema import IndexNode, NodeWithScore

from ragledger.model import Signal
from ragledger_llama_index import LedgerCallbackHandler

ways = pytest.mark.parametrize("asynchronous", [False, True])


async def ask(retriever: Any, query: str, asynchronous: bool) -> Any:
    return await retriever.aretrieve(query) if asynchronous else retriever.retrieve(query)


def tree(ledger: Any) -> list[tuple[str, int]]:
    """Class and depth, in the order in which the searches began; children belong to the search before them."""
    rows = sorted(ledger.searches, key=lambda row: row.search_id)
    [root] = [row for row in rows if row.depth == 0]
    assert {row.root_id for row in rows} == {root.search_id}
    return [(row.retriever, row.depth) for row in rows]


def root(ledger: Any) -> Any:
    [found] = [row for row in ledger.searches if row.depth == 0]
    return found


@ways
async def test_a_router_that_chooses_two_has_both_on_its_hits(memory_ledger, memory_manager, asynchronous):
    members = [ListRetriever(scored(("a", 0.9), ("b", 0.2))), ListRetriever(scored(("b", 7.0), ("c", 0.8)))]
    made = zoo.router(*members, chosen=(0, 1))
    made.callback_manager = memory_manager
    result = await ask(made, "q", asynchronous)
    assert tree(memory_ledger) == [("RouterRetriever", 0), ("ListRetriever", 1), ("ListRetriever", 1)]
    row = root(memory_ledger)
    assert [(hit.chunk_id, hit.score) for hit in row.hit_rows] == [
        (item.node.node_id, item.score) for item in result
    ]
    assert {hit.chunk_id: hit.signals for hit in row.hit_rows} == {
        "a": {"ListRetriever": Signal(0.9, 1)},
        "b": {"ListRetriever": Signal(0.2, 2), "ListRetriever#2": Signal(7.0, 1)},
        "c": {"ListRetriever#2": Signal(0.8, 2)},
    }


@ways
async def test_a_router_that_chooses_one_has_that_one(memory_ledger, memory_manager, asynchronous):
    made = zoo.router(ListRetriever(scored(("a", 0.9))), ListRetriever(scored(("b", 0.8))), chosen=(1,))
    made.callback_manager = memory_manager
    await ask(made, "q", asynchronous)
    assert tree(memory_ledger) == [("RouterRetriever", 0), ("ListRetriever", 1)]
    assert list(root(memory_ledger).signals) == ["ListRetriever#2"]


@ways
async def test_a_parent_stands_for_its_children_which_are_in_the_row_below(
    memory_ledger, memory_manager, asynchronous
):
    made = zoo.auto_merging(simple_ratio_thresh=0.4, member_top_k=2)
    made.callback_manager = memory_manager
    await ask(made, "a", asynchronous)
    assert tree(memory_ledger) == [("AutoMergingRetriever", 0), ("VectorIndexRetriever", 1)]
    top, below = memory_ledger.searches[::-1]
    assert [hit.chunk_id for hit in top.hit_rows] == ["p"]
    scores = [hit.score for hit in below.hit_rows]
    assert top.hit_rows[0].score == pytest.approx(sum(scores) / 2)
    assert (top.vector_available, below.vector_available) == (True, True)


@ways
async def test_a_recursive_retriever_and_what_it_enters(memory_ledger, memory_manager, asynchronous):
    made = zoo.recursive(member_top_k=2)
    made.callback_manager = memory_manager
    await ask(made, "a", asynchronous)
    assert tree(memory_ledger) == [
        ("RecursiveRetriever", 0), ("ListRetriever", 1), ("VectorIndexRetriever", 1)
    ]  # fmt: skip
    assert root(memory_ledger).vector_available is True


@ways
async def test_a_transform_retriever(memory_ledger, memory_manager, asynchronous):
    inner = vector_index().as_retriever(similarity_top_k=2)
    made = TransformRetriever(inner, IdentityQueryTransform(), callback_manager=memory_manager)
    await ask(made, "text of a", asynchronous)
    assert tree(memory_ledger) == [("TransformRetriever", 0), ("VectorIndexRetriever", 1)]
    top, below = memory_ledger.searches[::-1]
    assert [hit.chunk_id for hit in top.hit_rows] == [hit.chunk_id for hit in below.hit_rows]
    assert top.vector_available is True


@ways
async def test_a_property_graph_keeps_the_first_of_equal_texts(memory_ledger, memory_manager, asynchronous):
    made = zoo_graphs.property_graph(member_depth=1)
    made.sub_retrievers *= 2
    made.callback_manager = memory_manager
    await ask(made, "q", asynchronous)
    assert tree(memory_ledger)[0] == ("PGRetriever", 0)
    row = root(memory_ledger)
    assert row.admitted_count == row.candidate_count == len(row.hit_rows)
    assert all(set(hit.signals) == {"LLMSynonymRetriever", "LLMSynonymRetriever#2"} for hit in row.hit_rows)
    assert {
        hit.score_kind for search in memory_ledger.searches if search.depth for hit in search.hit_rows
    } == {"none"}


@ways
async def test_an_index_node_with_score_0_comes_back_as_1_and_the_row_below_has_the_truth(
    memory_ledger, memory_manager, asynchronous
):
    index_node = IndexNode(id_="x", text="x", index_id="inner", obj=node("whole"))
    inner = ListRetriever([NodeWithScore(node=index_node, score=0.0)])
    result = await ask(inner, "q", asynchronous)
    assert [(item.node.node_id, item.score) for item in result] == [("whole", 1.0)]
    inner.callback_manager = memory_manager
    await ask(inner, "q", asynchronous)
    assert [(hit.chunk_id, hit.score) for hit in memory_ledger.hits] == [("whole", 1.0)]


@ways
async def test_an_index_node_that_stands_for_a_retriever_is_a_row_below(
    memory_ledger, memory_manager, asynchronous
):
    inner = ListRetriever(scored(("a", 0.0)))
    pointing = IndexNode(id_="x", text="x", index_id="inner", obj=inner)
    made = ListRetriever([NodeWithScore(node=pointing, score=0.0)], callback_manager=memory_manager)
    await ask(made, "q", asynchronous)
    assert tree(memory_ledger) == [("ListRetriever", 0), ("ListRetriever", 1)]
    assert [[(hit.chunk_id, hit.score) for hit in row.hit_rows] for row in memory_ledger.searches] == [
        [("a", 0.0)], [("a", 0.0)]
    ]  # fmt: skip


def test_a_lexical_retriever_has_the_lexical_signal_and_a_padded_hit_is_0(memory_ledger, memory_manager):
    made = zoo.bm25(similarity_top_k=6)
    made.callback_manager = memory_manager
    made.retrieve("boat")
    assert memory_ledger.row.vector_available is None
    hits = memory_ledger.hits
    assert [hit.lexical_score for hit in hits] == [hit.score for hit in hits]
    assert 0.0 in [hit.lexical_score for hit in hits]
    assert {hit.vector_score for hit in hits} == {None}


def test_a_member_that_cannot_take_its_seat_flags_the_search_that_fuses(make_ledger, rows):
    class Odd(str):
        """A text that cannot be counted."""

        __slots__ = ()
        __hash__ = None

    ledger = make_ledger(strict=False)
    made = zoo.router(ListRetriever(scored(("a", 0.9))), chosen=(0,))
    made.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
    made.retrieve(Odd("q"))
    assert rows("depth, 'incomplete' = ANY (flags)", ledger) == [(0, True), (1, False)]
    assert ledger.guard.faults == {"llama_index.fusion": 1}
