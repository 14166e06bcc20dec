"""Whose search it is: surface, session, actor and corpus from marks, config and context; spans; lineage."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from adapters.langchain.world import Calling, Keywords, Listed, Slow, Table, documents
from fix_spans import Spans
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

import ragledger
from ragledger import Ledger
from ragledger_langchain import observe


@pytest.fixture
def retriever(ledger: Ledger) -> Any:
    return observe(Listed(found=documents("a")), ledger)


def _config(**said: str) -> RunnableConfig:
    return {"metadata": {f"ragledger.{name}": value for name, value in said.items()}}


def test_config_says_the_same_as_context(retriever: Any, table: Table) -> None:
    said = {
        "surface": "study",
        "session_id": "s1",
        "actor": "human:ana",
        "corpus": "handbook",
        "index_version": "i2",
        "embedding_model": "m3",
    }
    retriever.invoke("q", config=_config(**said))
    with ragledger.context(**said):
        retriever.invoke("q")
    columns = [
        "surface",
        "session_id",
        "actor_kind",
        "actor_id",
        "corpus",
        "index_version",
        "embedding_model",
        "epoch",
    ]
    by_config, by_context = [[row[name] for name in columns] for row in table.searches()]
    assert by_config == by_context
    assert by_config[:-1] == ["study", "s1", "human", "ana", "handbook", "i2", "m3"]


def test_config_wins_over_marks_and_marks_win_over_context(ledger: Ledger, table: Table) -> None:
    retriever = observe(Listed(found=documents("a")), ledger, corpus="mark", surface="mark")
    with ragledger.context(corpus="context", surface="context", session_id="context"):
        retriever.invoke("q", config=_config(corpus="config"))
    row = table.one()
    assert (row["corpus"], row["surface"], row["session_id"]) == ("config", "mark", "context")


@pytest.mark.parametrize("config", [None, {}, {"metadata": None}, {"metadata": {}}, {"tags": ["t"]}])
def test_a_config_may_say_nothing(config: Any, retriever: Any, table: Table) -> None:
    assert retriever.invoke("q", config) == documents("a")
    assert table.one()["surface"] is None


def test_the_config_of_a_chain_reaches_the_retriever(retriever: Any, table: Table) -> None:
    """As a step, and called in a function without a config, and beside a metadata of its own."""
    config = _config(surface="study")
    (RunnableLambda(str) | retriever).invoke("q", config=config)
    RunnableLambda(lambda query: retriever.invoke(query)).invoke("q", config=config)
    RunnableLambda(lambda query: retriever.invoke(query, config={"metadata": {"a": 1}})).invoke(
        "q", config=config
    )
    assert [row["surface"] for row in table.searches()] == ["study"] * 3


def test_what_a_config_says_holds_for_everything_below(ledger: Ledger, table: Table) -> None:
    """Also where the composite does not hand its config on, as a hand-written one rarely does."""
    inner = observe(Listed(found=documents("a")), ledger, corpus="inner")
    outer = observe(Calling(body=lambda query: inner.invoke(query)), ledger, corpus="outer")
    outer.invoke("q", config=_config(surface="study"))
    outer.invoke("q")
    said = [(row["corpus"], row["surface"]) for row in table.searches()]
    assert said == [("outer", "study"), ("inner", "study"), ("outer", None), ("inner", None)]


def test_metadata_handed_down_by_the_callback_manager_counts(retriever: Any, table: Table) -> None:
    from langchain_core.callbacks import CallbackManager

    manager = CallbackManager(handlers=[], inheritable_metadata={"ragledger.surface": "study"})
    retriever.invoke("q", config={"callbacks": manager})
    assert table.one()["surface"] == "study"


def test_p6_d48_the_receipt_is_ours_and_the_run_id_only_the_one_that_is_used(
    retriever: Any, table: Table
) -> None:
    run_id = uuid.uuid4()
    with ragledger.capture() as receipts:
        retriever.invoke("q", config={"run_id": run_id})
        retriever.invoke("q", run_id=run_id)
        retriever.invoke("q", run_id=None)
    rows = table.searches()
    assert [receipt.search_id for receipt in receipts] == [row["search_id"] for row in rows]
    assert [row["external_run_id"] for row in rows] == [None, str(run_id), None]


def test_a_hit_of_the_receipt_can_be_voted_on(retriever: Any, ledger: Ledger, table: Table) -> None:
    with ragledger.capture() as receipts:
        retriever.invoke("q")
    vote = ledger.vote(receipts[0].search_id, "a", "relevant", actor="human:ana")
    assert vote.status == "journalled"


def test_suppress_records_nothing(retriever: Any, table: Table) -> None:
    with ragledger.suppress():
        assert retriever.invoke("q") == documents("a")
    assert table.searches() == []


# --- concurrency -------------------------------------------------------------------------------------------


async def test_d45_concurrent_searches_keep_their_own_surface(ledger: Ledger, table: Table) -> None:
    slow = observe(Slow(wait_s=0.02), ledger)

    async def by_context(number: int) -> None:
        with ragledger.context(surface=f"task-{number}"):
            await slow.ainvoke("q")

    def in_thread(number: int) -> None:
        slow.invoke("q", config=_config(surface=f"thread-{number}"))

    await asyncio.gather(*(by_context(number) for number in range(50)))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(in_thread, range(50)))
    rows = table.searches()
    expected = {f"{kind}-{number}" for kind in ("task", "thread") for number in range(50)}
    assert {row["surface"] for row in rows} == expected
    assert {(row["depth"], row["root_id"] == row["search_id"]) for row in rows} == {(0, True)}
    assert len(rows) == 100


def test_d46_one_retriever_shared_by_threads(retriever: Any, table: Table) -> None:
    def work() -> None:
        for _ in range(200):
            retriever.invoke("q")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = table.searches()
    assert (len(rows), {row["status"] for row in rows}, {row["depth"] for row in rows}) == (1600, {"ok"}, {0})


def test_d31_a_later_step_that_raises_leaves_the_search_closed(retriever: Any, table: Table) -> None:
    def fail(found: Any) -> Any:
        raise RuntimeError("later")

    with pytest.raises(RuntimeError, match="later"):
        (retriever | RunnableLambda(fail)).invoke("q")
    assert not ragledger.current()
    assert table.one()["status"] == "ok"


async def test_d33_a_stream_closed_by_another_task_leaves_no_trace(
    make_ledger: Callable[..., Ledger], database: Any, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    retriever = observe(Listed(found=documents("a")), ledger)

    async def answer() -> AsyncIterator[str]:
        found = await retriever.ainvoke("q")
        for item in found * 3:
            yield item.page_content

    stream = answer()
    with caplog.at_level(logging.DEBUG):
        assert await asyncio.create_task(anext(stream)) == "text of a"  # type: ignore[arg-type]
        assert len(spans.finished) == 1
        await asyncio.create_task(stream.aclose())  # type: ignore[attr-defined]
    assert not [record for record in caplog.records if "detach" in record.getMessage()]
    assert not trace.get_current_span().get_span_context().is_valid
    assert Table(database).of(ledger).one()["status"] == "ok"


async def test_d34_two_searches_of_a_graph_are_in_one_trace(
    make_ledger: Callable[..., Ledger], database: Any, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    graph = pytest.importorskip("langgraph.graph")
    ledger = make_ledger(tracer_provider=spans.provider)
    retriever = observe(Listed(found=documents("a")), ledger)

    async def node(state: dict[str, Any]) -> dict[str, Any]:
        return {"found": len(await retriever.ainvoke("q"))}

    builder = graph.StateGraph(dict)
    builder.add_node("one", node)
    builder.add_node("two", node)
    builder.add_edge(graph.START, "one")
    builder.add_edge("one", "two")
    with caplog.at_level(logging.ERROR), spans.provider.get_tracer("app").start_as_current_span("graph"):
        await builder.compile().ainvoke({})
    assert not caplog.records
    assert len({row["trace_id"] for row in Table(database).of(ledger).searches()}) == 1


# --- spans -------------------------------------------------------------------------------------------------


class Querying(BaseRetriever):
    """Opens a database span, as an instrumented driver does."""

    tracer: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        with self.tracer.start_as_current_span("db"):
            return documents("a")

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(0)
        with self.tracer.start_as_current_span("db"):
            return documents("a")


async def test_d02_database_spans_are_below_ours_and_nothing_stays_current(
    make_ledger: Callable[..., Ledger], database: Any, spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    retriever = observe(Querying(tracer=spans.provider.get_tracer("db")), ledger)
    retriever.invoke("q")
    await retriever.ainvoke("q")
    assert not trace.get_current_span().get_span_context().is_valid
    inner = [span for span in spans.finished if span.name == "db"]
    ours = [span for span in spans.finished if span.name == "retrieval"]
    assert [span.parent.span_id for span in inner] == [span.context.span_id for span in ours]
    rows = Table(database).of(ledger).searches()
    assert [row["span_id"] for row in rows] == [span.context.span_id.to_bytes(8, "big") for span in ours]


async def test_d02_members_of_an_ensemble_are_child_spans(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    classic = pytest.importorskip("langchain_classic.retrievers")
    ledger = make_ledger(tracer_provider=spans.provider)
    members = [Keywords(docs=documents("a")), Keywords(docs=documents("b"))]
    ensemble = observe(classic.EnsembleRetriever(retrievers=members), ledger)
    ensemble.invoke("q")
    await ensemble.ainvoke("q")
    roots = [span for span in spans.finished if span.parent is None]
    below = [span for span in spans.finished if span.parent is not None]
    assert (len(roots), len(below)) == (2, 4)
    assert {span.parent.span_id for span in below} == {span.context.span_id for span in roots}


async def test_a_cancelled_search_leaves_no_span_behind(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(observe(Slow(), ledger).ainvoke("q"), 0.02)
    assert [span.name for span in spans.finished] == ["retrieval"]
    assert not trace.get_current_span().get_span_context().is_valid


def test_d24_suppressed_instrumentation_has_a_row_and_no_span(
    make_ledger: Callable[..., Ledger], database: Any, spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    with suppress_instrumentation():
        observe(Listed(found=documents("a")), ledger).invoke("q")
    assert spans.finished == []
    row = Table(database).of(ledger).one()
    assert (row["status"], row["trace_id"]) == ("ok", None)
