"""One call, one row: what the row says of it, and that the caller notices nothing."""

from __future__ import annotations

import asyncio
import contextvars
import time
from typing import Any

import numpy as np
import pytest
from adapters.llama_index.doubles import (
    BodyRetriever,
    FailingEmbedding,
    ListRetriever,
    SlowRetriever,
    node,
    scored,
    vector_index,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle
from llama_index.core.tools import FunctionTool
from llama_index.core.vector_stores.types import VectorStoreQueryMode

import ragledger

pytestmark = [pytest.mark.pg, pytest.mark.usefixtures("no_faults")]


async def test_d07_p10_a_sync_and_an_async_retrieval_are_two_rows_not_four(ledger, manager, rows):
    retriever = vector_index(manager=manager).as_retriever(similarity_top_k=3)
    retriever.retrieve("text of a")
    await retriever.aretrieve("text of b")
    found = rows(
        "framework, retriever, status, depth, top_k, candidate_count, admitted_count, vector_available, project",
        ledger,
    )
    assert found == [("llama_index", "VectorIndexRetriever", "ok", 0, 3, 3, 3, True, "test")] * 2


def test_hits_carry_the_ids_ranks_scores_and_documents_of_the_result(ledger, manager, hits):
    retriever = vector_index(manager=manager).as_retriever(similarity_top_k=2)
    result = retriever.retrieve("text of a")
    found = hits(
        "rank, chunk_id, document_id, score, admitted, chunk_id_source, score_kind, score_source", ledger
    )
    assert found == [
        (
            rank,
            item.node.node_id,
            f"doc-{item.node.node_id}",
            item.score,
            True,
            "framework",
            "similarity",
            "node.score",
        )
        for rank, item in enumerate(result, start=1)
    ]


async def test_p3_result_and_exception_are_the_very_objects_of_the_retriever(ledger, manager, rows):
    nodes = scored(("a", 0.9))
    fault = LookupError("nothing here")

    class Own(BaseRetriever):
        def retrieve(self, str_or_query_bundle: Any) -> Any:
            return nodes

        async def aretrieve(self, str_or_query_bundle: Any) -> Any:
            raise fault

        def _retrieve(self, query_bundle: QueryBundle) -> Any:
            raise AssertionError

    retriever = Own(callback_manager=manager)
    assert retriever.retrieve("q") is nodes
    with pytest.raises(LookupError) as caught:
        await retriever.aretrieve("q")
    assert caught.value is fault
    assert rows("status, error_type, error_origin, admitted_count", ledger) == [
        ("ok", None, None, 1),
        ("error", "LookupError", "caller", None),
    ]


async def test_an_empty_result_is_ok_with_no_hit(ledger, manager, rows, hits):
    retriever = ListRetriever([], callback_manager=manager)
    assert retriever.retrieve("q") == []
    assert await retriever.aretrieve("q") == []
    assert rows("status, candidate_count, admitted_count, flags", ledger) == [("ok", 0, 0, [])] * 2
    assert hits("*", ledger) == []


async def test_d30_a_timeout_is_cancelled_after_the_time_it_took(ledger, manager, rows):
    retriever = SlowRetriever(5.0, callback_manager=manager)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(retriever.aretrieve("q"), 0.05)
    assert not ragledger.current()
    [(status, latency, admitted)] = rows("status, latency_ms, admitted_count", ledger)
    assert status == "cancelled"
    assert 45 <= latency < 5000  # the search itself would have taken that long
    assert admitted is None


def test_keyboard_interrupt_is_cancelled_and_raised(ledger, manager, rows):
    def interrupted(_: QueryBundle) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BodyRetriever(interrupted, callback_manager=manager).retrieve("q")
    assert rows("status, error_type", ledger) == [("cancelled", "KeyboardInterrupt")]


async def test_a_coroutine_closed_from_outside_is_cancelled(ledger, manager, rows, caplog):
    pending = SlowRetriever(5.0, callback_manager=manager).aretrieve("q")
    pending.send(None)
    with pytest.raises(ValueError, match="active_span_id"):  # LlamaIndex's own token, not ours
        await asyncio.to_thread(pending.close)
    assert rows("status, error_type", ledger) == [("cancelled", "GeneratorExit")]
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("seconds", [0.1])
async def test_d32_latency_is_that_of_the_search(ledger, manager, rows, seconds):
    retriever = SlowRetriever(seconds, callback_manager=manager)
    started = time.perf_counter()
    retriever.retrieve("q")
    between = time.perf_counter()
    await retriever.aretrieve("q")
    longest = [between - started, time.perf_counter() - between]
    for (latency, admitted), most in zip(rows("latency_ms, admitted_count", ledger), longest, strict=True):
        assert seconds * 1000 - 1 <= latency <= most * 1000
        assert admitted == 1


async def test_d32_a_workflow_step_is_one_row_with_its_hits_and_its_time(ledger, manager, rows):
    from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

    retriever = SlowRetriever(0.1, callback_manager=manager)

    class Flow(Workflow):
        @step
        async def answer(self, event: StartEvent) -> StopEvent:
            return StopEvent(result=await retriever.aretrieve("q"))

    assert len(await Flow(timeout=10).run()) == 1
    [(latency, admitted, depth)] = rows("latency_ms, admitted_count, depth", ledger)
    assert latency >= 99
    assert (admitted, depth) == (1, 0)


async def test_d03_a_sync_tool_of_an_async_agent_keeps_the_context(ledger, manager, rows):
    retriever = ListRetriever(scored(("a", 0.5)), callback_manager=manager)
    if not await _tools_keep_the_context():
        pytest.skip("this llama-index-core loses ContextVars in sync tools: run-llama/llama_index#21555")
    tool = FunctionTool.from_defaults(fn=lambda question: str(len(retriever.retrieve(question))), name="find")
    with ragledger.context(surface="chat", session_id="s1", actor="agent:planner"):
        await tool.acall(question="q")
    assert rows("surface, session_id, actor_kind, actor_id", ledger) == [("chat", "s1", "agent", "planner")]


async def _tools_keep_the_context() -> bool:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("probe", default="lost")
    variable.set("kept")
    output = await FunctionTool.from_defaults(fn=lambda: variable.get(), name="probe").acall()
    return str(output) == "kept"


# --- scores ------------------------------------------------------------------------------------------------


def test_d10_no_score_is_null_and_said_to_be_unavailable(ledger, manager, hits, rows):
    ListRetriever(scored(("a", None), ("b", None)), callback_manager=manager).retrieve("q")
    assert hits("rank, score, score_kind, score_source", ledger) == [
        (1, None, "none", "unavailable"),
        (2, None, "none", "unavailable"),
    ]
    assert rows("top_candidate_score, top_admitted_score", ledger) == [(None, None)]


def test_d13_d11_zero_is_zero_and_numpy_is_a_float(ledger, manager, hits):
    nodes = scored(("zero", 0.0), ("single", 0.5))
    nodes[1].score = np.float32(0.25)  # assignment is not validated
    ListRetriever(nodes, callback_manager=manager).retrieve("q")
    assert hits("chunk_id, score, score_kind", ledger) == [
        ("zero", 0.0, "similarity"),
        ("single", 0.25, "similarity"),
    ]


def test_p8_a_score_that_is_not_a_number_is_unknown(ledger, manager, hits, rows):
    ListRetriever(scored(("nan", float("nan")), ("inf", float("inf"))), callback_manager=manager).retrieve(
        "q"
    )
    assert hits("chunk_id, score, score_kind", ledger) == [("nan", None, "none"), ("inf", None, "none")]
    assert rows("flags", ledger) == [["nonfinite_score"]]


# --- ids ---------------------------------------------------------------------------------------------------


def test_d19_ids_that_postgres_refuses_are_escaped_and_flagged(ledger, manager, hits, rows):
    ListRetriever(scored(("a\u0000b", 0.9), ("\ud800", 0.8), ("c", 0.7)), callback_manager=manager).retrieve(
        "q"
    )
    ListRetriever(scored(("neighbour", 0.9)), callback_manager=manager).retrieve("q")
    assert hits("chunk_id", ledger) == ["a\\u0000b", "\\ud800", "c", "neighbour"]
    assert rows("flags", ledger) == [["sanitised_id"], []]


def test_d15_a_whole_number_as_id_keeps_its_digits(ledger, manager, hits):
    nodes = scored(("a", 0.9))
    nodes[0].node.__dict__["id_"] = 1034556054119387216
    ListRetriever(nodes, callback_manager=manager).retrieve("q")
    assert hits("chunk_id", ledger) == ["1034556054119387216"]


def test_d16_a_node_without_an_id_gets_the_same_derived_one_each_time(ledger, manager, hits):
    retriever = ListRetriever(scored(("", 0.9)), callback_manager=manager)
    retriever.retrieve("q")
    retriever.retrieve("q")
    (first, source), second = hits("chunk_id, chunk_id_source", ledger)
    assert (first, source) == second
    assert source == "derived"
    assert first == ledger.derive_id("text of ")


def test_d16_the_configured_metadata_key_names_the_chunk(ledger, manager, hits):
    ledger.chunk_id_key = "stable_id"
    ledger.source_kind_key = "kind"
    nodes = [
        NodeWithScore(node=node("a", metadata={"stable_id": "S-1", "kind": "table", "doc_id": "D-1"})),
        NodeWithScore(node=node("b", metadata={"stable_id": ["no", "id"], "kind": {"text": "no kind"}})),
    ]
    ListRetriever(nodes, callback_manager=manager).retrieve("q")
    assert hits("chunk_id, chunk_id_source, document_id, source_kind", ledger) == [
        ("S-1", "metadata", "D-1", "table"),
        ("b", "framework", None, None),
    ]


def test_d18_a_chunk_that_came_twice_is_one_hit_at_its_best_rank(ledger, manager, hits, rows):
    nodes = scored(("a", 0.9), ("b", 0.8), ("a", 0.7))

    class Own(ListRetriever):
        def _handle_recursive_retrieval(self, query_bundle: Any, nodes: Any) -> Any:
            return nodes  # the core would remove the second one

    Own(nodes, callback_manager=manager).retrieve("q")
    assert hits("rank, chunk_id", ledger) == [(1, "a"), (2, "b")]
    assert rows("flags, admitted_count", ledger) == [(["duplicate_hit"], 2)]


def test_an_index_node_that_leads_to_a_retriever_is_a_child_search(ledger, manager, rows):
    inner = ListRetriever(scored(("deep", 0.4)))
    outer = ListRetriever(
        [NodeWithScore(node=IndexNode(text="see there", index_id="i", obj=inner), score=0.9)],
        callback_manager=manager,
    )
    assert [item.node.node_id for item in outer.retrieve("q")] == ["deep"]
    outer_id, inner_parent = rows("search_id, parent_id", ledger)
    assert outer_id[1] is None
    assert inner_parent[1] == outer_id[0]


# --- what is known of the embedding provider ---------------------------------------------------------------


async def test_vector_available_is_false_when_the_embedding_failed(ledger, manager, rows):
    index = vector_index(manager=manager)
    retriever = index.as_retriever(embed_model=FailingEmbedding(embed_dim=36))
    with pytest.raises(ConnectionError):
        retriever.retrieve("q")
    with pytest.raises(ConnectionError):
        await retriever.aretrieve("q")
    assert rows("status, vector_available, error_origin", ledger) == [("error", False, "infra")] * 2


def test_vector_available_is_null_where_the_store_failed(ledger, manager, rows, monkeypatch):
    index = vector_index(manager=manager)

    def broken(*_: Any, **__: Any) -> Any:
        raise TimeoutError

    monkeypatch.setattr(type(index.vector_store), "query", broken)
    with pytest.raises(TimeoutError):
        index.as_retriever().retrieve("q")
    assert rows("status, vector_available", ledger) == [("error", None)]


def test_vector_available_is_null_without_a_vector_signal(ledger, manager, rows):
    ListRetriever(scored(("a", 1.0)), callback_manager=manager).retrieve("q")
    assert rows("vector_available", ledger) == [None]


def test_vector_available_of_a_hybrid_that_goes_on_without_its_embedding(ledger, manager, rows):
    embedding = FailingEmbedding(embed_dim=4)

    def lexical_instead(query: QueryBundle) -> list[NodeWithScore]:
        with pytest.raises(ConnectionError):
            embedding.get_query_embedding(query.query_str)
        return scored(("a", 1.0))

    BodyRetriever(lexical_instead, callback_manager=manager).retrieve("q")
    assert rows("status, vector_available", ledger) == [("ok", False)]


def test_vector_available_after_a_second_attempt_at_the_embedding_is_not_false(ledger, manager, rows):
    index = vector_index(manager=manager)
    down = FailingEmbedding(embed_dim=4)

    def twice(query: QueryBundle) -> list[NodeWithScore]:
        with pytest.raises(ConnectionError):
            down.get_query_embedding(query.query_str)
        index._embed_model.get_query_embedding(query.query_str)
        return scored(("a", 1.0))

    BodyRetriever(twice, callback_manager=manager).retrieve("q")
    assert rows("vector_available", ledger) == [True]


def test_vector_available_of_a_retriever_of_the_application_that_embeds(ledger, manager, rows):
    index = vector_index(manager=manager)

    def once(query: QueryBundle) -> list[NodeWithScore]:
        index._embed_model.get_query_embedding(query.query_str)
        return scored(("a", 1.0))

    BodyRetriever(once, callback_manager=manager).retrieve("q")
    assert rows("vector_available", ledger) == [True]


def test_what_the_application_says_of_the_provider_wins(ledger, manager, rows):
    index = vector_index(manager=manager)

    def degraded(query: QueryBundle) -> list[NodeWithScore]:
        ragledger.current().degrade("embedding_unavailable", vector_available=False)
        return index.as_retriever().retrieve(query)

    BodyRetriever(degraded, callback_manager=manager).retrieve("q")
    assert rows("depth, vector_available, degraded_reason", ledger) == [
        (0, False, "embedding_unavailable"),
        (1, True, None),
    ]


@pytest.mark.parametrize("mode", [VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH])
def test_vector_available_is_null_in_a_mode_without_vectors(ledger, manager, rows, monkeypatch, mode):
    from llama_index.core.vector_stores.types import VectorStoreQueryResult

    index = vector_index(manager=manager)
    empty = VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
    monkeypatch.setattr(type(index.vector_store), "query", lambda *_, **__: empty)
    index.as_retriever(vector_store_query_mode=mode).retrieve("q")
    assert rows("status, vector_available, weights->'effective'->>'mode'", ledger) == [
        ("ok", None, mode.value)
    ]


# --- what the retriever's own code hands over --------------------------------------------------------------


def test_current_is_the_search_inside_the_body_and_its_signals_are_merged(ledger, manager, hits, rows):
    def hybrid(_: QueryBundle) -> list[NodeWithScore]:
        ragledger.current().candidates(
            ragledger.Candidate("a", vector=0.7, lexical=0.1, score=0.46),
            ragledger.Candidate("b", vector=0.1, lexical=0.1, score=0.1),
        )
        return scored(("a", 0.46))

    BodyRetriever(hybrid, callback_manager=manager).retrieve("q")
    assert hits("rank, chunk_id, vector_score, lexical_score, score, admitted, score_kind", ledger) == [
        (1, "a", 0.7, 0.1, 0.46, True, "fused"),
        (2, "b", 0.1, 0.1, 0.1, False, "fused"),
    ]
    assert rows("candidate_count, admitted_count, vector_available", ledger) == [(2, 1, True)]


async def test_capture_collects_the_receipts_of_what_the_caller_searched(ledger, manager):
    retriever = ListRetriever(scored(("a", 1.0)), callback_manager=manager)
    with ragledger.capture() as receipts:
        retriever.retrieve("q")
        await asyncio.gather(retriever.aretrieve("q"), retriever.aretrieve("q"))
    assert len({receipt.search_id for receipt in receipts}) == 3
    ledger.vote(receipts[0].search_id, "a", "relevant", actor="human:ana")


def test_suppress_records_nothing(ledger, manager, rows):
    retriever = ListRetriever(scored(("a", 1.0)), callback_manager=manager)
    with ragledger.suppress():
        retriever.retrieve("q")
    assert rows("1", ledger) == []
    assert isinstance(retriever.callback_manager, CallbackManager)
