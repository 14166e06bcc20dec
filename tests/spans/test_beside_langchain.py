"""LangChain under other instrumentors too, in every order: one search, one row, our span around theirs or instead."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from adapters.langchain.world import Calling, Listed, Raising, Slow, documents
from fix_spans import Spans
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableLambda
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from spans.others import (
    LANGCHAIN,
    OFFICIAL,
    apart,
    entering,
    ids_of,
    is_below,
    nothing_current,
    of_others,
    of_ours,
    orders,
    scope_of,
)

from ragledger.testing import MemoryLedger, memory_ledger

OURS = "ragledger_langchain.instrumentor:LangChainInstrumentor"
SEARCH_ID = "ragledger.search.id"


@pytest.fixture(autouse=True)
def _process_state() -> Iterator[None]:
    """Traceloop does not take all of itself away again, and leaves its span current."""
    init, token = BaseCallbackManager.__init__, otel_context.attach(Context())
    yield
    BaseCallbackManager.__init__ = init  # type: ignore[method-assign]
    otel_context.detach(token)


@pytest.fixture
def ledger(spans: Spans) -> Iterator[MemoryLedger]:
    with memory_ledger(tracer_provider=spans.provider) as ledger:
        yield ledger
        assert ledger.guard.faults == {}


@pytest.fixture
def within(ledger: MemoryLedger, spans: Spans) -> Callable[..., Any]:
    return entering({"ours": OURS, **LANGCHAIN}, ledger, spans)


def found() -> Any:
    return Listed(found=documents("a", "b")).invoke("q")


def found_later() -> Any:
    return asyncio.run(Listed(found=documents("a", "b")).ainvoke("q"))


def failed() -> None:
    with pytest.raises(LookupError):
        Raising(fault=LookupError("x")).invoke("q")


def failed_later() -> None:
    with pytest.raises(LookupError):
        asyncio.run(Raising(fault=LookupError("x")).ainvoke("q"))


def cancelled() -> None:
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(Slow(wait_s=60).ainvoke("q"), 0.05))


ENDINGS = [
    (found, "ok"),
    (found_later, "ok"),
    (failed, "error"),
    (failed_later, "error"),
    (cancelled, "cancelled"),
]


@pytest.mark.parametrize("order", orders(list(LANGCHAIN)), ids="-".join)
def test_d08_one_search_is_one_row_and_one_span_of_ours_around_theirs(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans, order: tuple[str, ...]
) -> None:
    with within(*order):
        for search, status in ENDINGS:
            spans.exporter.clear()
            before = len(ledger.searches)
            apart(search)
            (row,) = ledger.searches[before:]
            (ours,) = of_ours(spans)
            assert row.status == status
            assert ours.attributes[SEARCH_ID] == str(row.search_id)
            assert ids_of(ours) == (row.trace_id, row.span_id)
            assert (row.span_owner, row.sampled, ours.parent) == ("ours", True, None)
            assert all(is_below(span, ours, spans) for span in of_others(spans))
            assert not [span for span in spans.finished if scope_of(span).startswith(OFFICIAL)]
            assert nothing_current()


def test_the_others_do_make_their_spans(within: Callable[..., Any], spans: Spans) -> None:
    """Without this the test above could pass because nobody was there."""
    with within("ours", "openinference", "traceloop"):
        found()
    assert {scope_of(span) for span in of_others(spans)} == {
        "openinference.instrumentation.langchain",
        "opentelemetry.instrumentation.langchain",
    }
    with within("official"):
        spans.exporter.clear()
        found()
    assert [scope_of(span) for span in spans.finished] == ["opentelemetry.instrumentation.genai.langchain"]


@pytest.mark.parametrize("ahead", [True, False])
def test_a_search_inside_a_retrieval_of_theirs_is_told_on_their_span(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans, ahead: bool
) -> None:
    """A retriever that we do not observe around one that we do."""
    from ragledger_langchain import observe

    inner = observe(Listed(found=documents("a", "b")), ledger, corpus="handbook", surface="study")
    with within("official"):
        outer = Calling(body=inner.invoke)
        assert (outer.invoke("q") if ahead else asyncio.run(outer.ainvoke("q"))) == documents("a", "b")

    (span,) = spans.finished
    (row,) = ledger.searches
    assert scope_of(span) == row.span_owner == "opentelemetry.instrumentation.genai.langchain"
    assert ids_of(span) == (row.trace_id, row.span_id)
    said = dict(span.attributes)
    assert said[SEARCH_ID] == str(row.search_id)
    assert said["ragledger.surface"] == "study"
    assert said["ragledger.admitted.count"] == 2
    assert said["openinference.span.kind"] == "RETRIEVER"
    assert said["gen_ai.data_source.id"] == "handbook"
    assert said["gen_ai.operation.name"] == "retrieval"


def test_their_span_tells_one_search_and_the_others_have_spans_of_their_own(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans
) -> None:
    from ragledger_langchain import observe

    inner = observe(Listed(found=documents("a")), ledger)

    def twice(query: str) -> Any:
        inner.invoke(query)
        return inner.invoke(query)

    with within("official"):
        Calling(body=twice).invoke("q")

    first, second = ledger.searches
    (ours,), (theirs,) = of_ours(spans), of_others(spans)
    assert theirs.attributes[SEARCH_ID] == str(first.search_id)
    assert ours.attributes[SEARCH_ID] == str(second.search_id)
    assert is_below(ours, theirs, spans)


def test_a_search_that_outlives_their_retrieval_has_a_span_of_its_own(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans
) -> None:
    from ragledger_langchain import observe

    inner = observe(Listed(found=documents("a")), ledger)
    context: list[contextvars.Context] = []

    def remember(_: str) -> list[Any]:
        context.append(contextvars.copy_context())
        return []

    with within("official"):
        Calling(body=remember).invoke("q")
        context[0].run(inner.invoke, "q")
    assert [scope_of(span) for span in spans.finished] == [
        "opentelemetry.instrumentation.genai.langchain",
        "ragledger",
    ]
    assert ledger.row.span_owner == "ours"


def test_the_members_of_a_composite_have_spans_of_ours_alone(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans
) -> None:
    with within("ours", "official"):
        Calling(body=Listed(found=documents("a")).invoke).invoke("q")
    inner, outer = spans.finished
    assert [scope_of(span) for span in spans.finished] == ["ragledger", "ragledger"]
    assert inner.parent.span_id == outer.context.span_id
    assert inner.attributes["ragledger.search.parent_id"] == outer.attributes[SEARCH_ID]


@pytest.mark.parametrize("later", [False, True])
def test_in_a_chain_ours_is_a_child_of_the_run_of_openinference(
    within: Callable[..., Any], spans: Spans, later: bool
) -> None:
    """OpenInference makes no span current: without looking for its run ours would begin a trace of its own."""
    chain = Listed(found=documents("a")) | RunnableLambda(len)
    with within("openinference", "ours"):
        assert (asyncio.run(chain.ainvoke("q")) if later else chain.invoke("q")) == 1
    (ours,) = of_ours(spans)
    (run,) = [span for span in spans.finished if span.name == "RunnableSequence"]
    assert ours.parent.span_id == run.context.span_id
    assert len({span.context.trace_id for span in spans.finished}) == 1


def test_a_span_of_the_application_stays_the_parent(within: Callable[..., Any], spans: Spans) -> None:
    chain = Listed(found=documents("a")) | RunnableLambda(len)
    with (
        within("openinference", "ours"),
        spans.provider.get_tracer("app").start_as_current_span("request") as request,
    ):
        chain.invoke("q")
    (ours,) = of_ours(spans)
    assert ours.parent.span_id == request.get_span_context().span_id


def test_in_a_chain_the_official_one_cannot_be_told_and_both_are_in_one_trace(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans
) -> None:
    """It takes the context of the chain, not the one that is current: documented in docs/spans.md."""
    chain = Listed(found=documents("a")) | RunnableLambda(len)
    with within("official", "ours"):
        chain.invoke("q")
    (ours,) = of_ours(spans)
    assert len(ledger.searches) == 1
    assert len({span.context.trace_id for span in spans.finished}) == 1
    assert ours.attributes[SEARCH_ID] == str(ledger.row.search_id)
    assert nothing_current()


def test_suppressed_theirs_and_ours_are_silent_and_the_row_is_there(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans
) -> None:
    from opentelemetry.instrumentation.utils import suppress_instrumentation

    with within("openinference", "ours"), suppress_instrumentation():
        found()
    assert spans.finished == []
    assert (ledger.row.status, ledger.row.span_owner) == ("ok", None)
    assert otel_context.get_current() is not None
