"""QueryFusionRetriever: its members' scores and ranks on its own hits, and the order again from the row."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, node, scored
from adapters.llama_index.replay import replay
from adapters.llama_index.zoo import scripted
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

import ragledger
from ragledger import Candidate
from ragledger.model import Signal
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_llama_index import LedgerCallbackHandler

Answer = Sequence[tuple[str, float | None]]
MODES = ("reciprocal_rerank", "relative_score", "dist_based_score", "simple")


class ByQuery(BaseRetriever):
    """New nodes for each query, as a store gives them. It is the application's: its weights are unknown."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return scored(*self.answers.get(query_bundle.query_str, ()))


class Other(ByQuery):
    """A member of another class."""


def fused(
    ledger: MemoryLedger,
    members: Sequence[BaseRetriever],
    mode: str,
    queries: Sequence[str] = (),
    **more: Any,
) -> QueryFusionRetriever:
    more = {"use_async": False, "similarity_top_k": 50} | more
    return QueryFusionRetriever(
        list(members),
        mode=mode,
        llm=scripted("\n".join(queries) or "none"),
        num_queries=1 + len(queries),
        callback_manager=CallbackManager([LedgerCallbackHandler(ledger)]),
        **more,
    )


def parent(ledger: MemoryLedger) -> Any:
    [row] = [row for row in ledger.searches if row.depth == 0]
    return row


A: Answer = (("n0", 0.9), ("n1", 0.5))
B: Answer = (("n1", 12.0), ("n2", 3.0))


@pytest.mark.parametrize("use_async", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_d14_members_are_snapshotted_before_fusion_rewrites_their_scores(memory_ledger, mode, use_async):
    retriever = fused(memory_ledger, [ByQuery({"q": A}), Other({"q": B})], mode, use_async=use_async)
    result = retriever.retrieve("q")
    row = parent(memory_ledger)
    assert {hit.chunk_id: hit.signals for hit in row.hit_rows} == {
        "n0": {"ByQuery": Signal(0.9, 1)},
        "n1": {"ByQuery": Signal(0.5, 2), "Other": Signal(12.0, 1)},
        "n2": {"Other": Signal(3.0, 2)},
    }
    assert [(hit.chunk_id, hit.score, hit.admitted) for hit in row.hit_rows] == [
        (item.node.node_id, item.score, True) for item in result
    ]
    children = [search for search in memory_ledger.searches if search.depth == 1]
    assert [[(hit.chunk_id, hit.score) for hit in child.hit_rows] for child in children] == [list(A), list(B)]
    assert {child.parent_id for child in children} == {row.search_id}


def test_a_loop_that_the_bridge_leaves_behind_fails_no_test(memory_ledger):
    """The replay below failed for it once in many runs: with what another test had left."""
    fused(memory_ledger, [ByQuery({"q": A})], "simple", use_async=True).retrieve("q")
    asyncio.run(asyncio.sleep(0))  # takes the loop of the thread away
    gc.collect()


async def test_the_same_in_a_running_loop(memory_ledger):
    retriever = fused(memory_ledger, [ByQuery({"q": A}), Other({"q": B})], "relative_score")
    await retriever.aretrieve("q")
    assert set(parent(memory_ledger).signals) == {"ByQuery", "Other"}


def test_what_a_member_gave_and_fusion_cut_off_is_a_candidate(memory_ledger):
    fused(
        memory_ledger, [ByQuery({"q": A}), Other({"q": B})], "reciprocal_rerank", similarity_top_k=1
    ).retrieve("q")
    row = parent(memory_ledger)
    assert (row.candidate_count, row.admitted_count) == (3, 1)
    assert [(hit.chunk_id, hit.score, hit.admitted) for hit in row.hit_rows[1:]] == [
        ("n0", None, False),
        ("n2", None, False),
    ]


@pytest.mark.parametrize("use_async", [False, True])
def test_every_query_of_a_member_is_a_signal_of_its_own_without_its_text(memory_ledger, use_async):
    answers = {"SECRET-Q": A, "SECRET-2": B, "SECRET-3": (("n5", 0.1),)}
    queries = ["SECRET-2", "SECRET-Q", "SECRET-3"]  # the model repeats the question
    retriever = fused(memory_ledger, [ByQuery(answers)], "simple", queries, use_async=use_async)
    retriever.retrieve("SECRET-Q")
    row = parent(memory_ledger)
    assert list(row.signals) == ["ByQuery", "ByQuery@2", "ByQuery@3"]
    assert "SECRET" not in str(memory_ledger.searches)
    assert len(memory_ledger.searches) == 5
    by_id = {hit.chunk_id: hit.signals for hit in row.hit_rows}
    assert by_id["n1"] == {"ByQuery": Signal(0.5, 2), "ByQuery@2": Signal(12.0, 1)}


def test_one_object_as_two_members_is_two_signals(memory_ledger):
    member = ByQuery({"q": A, "r": B})
    fused(memory_ledger, [member, member], "simple", ["r"]).retrieve("q")
    row = parent(memory_ledger)
    assert list(row.signals) == ["ByQuery", "ByQuery#2", "ByQuery@2", "ByQuery#2@2"]
    assert json.loads(row.weights)["effective"]["members"] == ["ByQuery", "ByQuery#2"]


def test_what_the_application_says_itself_wins(memory_ledger):
    class Saying(QueryFusionRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> Any:
            ragledger.current().candidates(Candidate("n0", vector=0.7))
            return super()._retrieve(query_bundle)

    retriever = fused(memory_ledger, [ByQuery({"q": A})], "simple")
    retriever.__class__ = Saying
    retriever.retrieve("q")
    assert set(parent(memory_ledger).signals) == {"vector"}


def test_a_member_in_a_member_is_not_the_outer_ones(memory_ledger):
    inner = fused(memory_ledger, [ByQuery({"q": A}), Other({"q": B})], "reciprocal_rerank")
    fused(memory_ledger, [inner, ByQuery({"q": B})], "reciprocal_rerank").retrieve("q")
    assert set(parent(memory_ledger).signals) == {"QueryFusionRetriever", "ByQuery"}
    [middle] = [
        row for row in memory_ledger.searches if row.retriever == "QueryFusionRetriever" and row.depth
    ]
    assert set(middle.signals) == {"ByQuery", "Other"}


def test_a_content_that_a_member_gives_twice_is_flagged(memory_ledger):
    def twins(_: QueryBundle) -> Any:
        first, second = node("n0"), node("n0")
        second.id_ = "n1"
        return [NodeWithScore(node=first, score=0.9), NodeWithScore(node=second, score=0.8)]

    fused(memory_ledger, [BodyRetriever(twins)], "reciprocal_rerank").retrieve("q")
    assert "duplicate_hit" in parent(memory_ledger).flags


def test_a_member_that_fails_leaves_an_error_and_no_signal(memory_ledger):
    def failing(_: QueryBundle) -> Any:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        fused(memory_ledger, [ByQuery({"q": A}), BodyRetriever(failing)], "simple").retrieve("q")
    row = parent(memory_ledger)
    assert (row.status, row.signals) == ("error", None)


def test_p9_a_search_that_somebody_keeps_keeps_no_query_alive(memory_ledger):
    kept: list[Any] = []

    def body(_: QueryBundle) -> Any:
        kept.extend([ragledger.current(), ragledger.current().parent])
        return scored(("n0", 0.9))

    query = QueryBundle("SECRET")
    asked = weakref.ref(query)
    fused(memory_ledger, [BodyRetriever(body)], "simple").retrieve(query)
    del query
    gc.collect()
    assert [search.closed for search in kept] == [True, True]
    assert asked() is None
    assert [search.fusion for search in kept] == [None, None]


# --- replay ------------------------------------------------------------------------------------------------

_scores = st.integers(-80, 80).map(lambda number: number / 16)
_names = st.sampled_from([f"n{number}" for number in range(9)])
_answers = st.lists(st.tuples(_names, _scores), unique_by=lambda pair: pair[0], max_size=7)
_queries = st.lists(st.sampled_from(["q", "r", "s"]), max_size=3)
_members = st.lists(
    st.fixed_dictionaries({"q": _answers, "r": _answers, "s": _answers}), min_size=1, max_size=3
)


@pytest.mark.parametrize("mode", MODES)
@given(members=_members, queries=_queries, data=st.data())
@settings(max_examples=40)
def test_a_row_reproduces_the_order_and_the_scores(mode, members, queries, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(members), max_size=len(members)))
    top_k = data.draw(st.integers(1, 9))
    with memory_ledger() as ledger:
        retriever = fused(
            ledger,
            [(ByQuery if place % 2 else Other)(answers) for place, answers in enumerate(members)],
            mode,
            queries,
            retriever_weights=[float(weight) for weight in weights],
            similarity_top_k=top_k,
        )
        result = (
            retriever.retrieve("q") if data.draw(st.booleans()) else asyncio.run(retriever.aretrieve("q"))
        )
        row = parent(ledger)
        assert not ledger.guard.faults
    again = replay(row)
    # Weights are rounded to nine digits, so that a tie may come out in the other order: scores say whether it was one.
    exact = mode in ("reciprocal_rerank", "simple")
    if exact:
        assert [chunk_id for chunk_id, _ in again[:top_k]] == [item.node.node_id for item in result]
    scores = dict(again)
    assert [scores[item.node.node_id] for item in result] == [
        pytest.approx(item.score, abs=1e-7) for item in result
    ]
    assert [score for _, score in again[:top_k]] == [pytest.approx(item.score, abs=1e-7) for item in result]


@pytest.mark.parametrize("mode", ["relative_score", "dist_based_score"])
def test_the_scores_of_admitted_hits_come_again_although_candidates_were_capped(mode):
    answer = [(f"n{number}", 100.0 - number**1.5) for number in range(20)]
    with memory_ledger(max_candidates=5) as ledger:
        result = fused(ledger, [ByQuery({"q": answer})], mode, similarity_top_k=3).retrieve("q")
        row = parent(ledger)
    assert len(row.hit_rows) == 5
    scores = dict(replay(row))
    assert [scores[item.node.node_id] for item in result] == [pytest.approx(item.score) for item in result]
