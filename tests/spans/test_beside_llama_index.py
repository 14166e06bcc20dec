"""LlamaIndex under other instrumentors too, in every order: one search, one row, our span around theirs or instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from adapters.llama_index.doubles import BodyRetriever, ListRetriever, SlowRetriever, scored, vector_index
from fix_spans import Spans
from llama_index.core import QueryBundle
from llama_index_instrumentation import get_dispatcher
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from spans.others import (
    LLAMA_INDEX,
    OFFICIAL,
    apart,
    entering,
    ids_of,
    is_below,
    model_package,
    nothing_current,
    of_others,
    of_ours,
    orders,
    scope_of,
)

from ragledger.testing import MemoryLedger, memory_ledger

OURS = "ragledger_llama_index.instrumentor:LlamaIndexInstrumentor"
SEARCH_ID = "ragledger.search.id"


@pytest.fixture(autouse=True)
def _process_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Traceloop takes nothing of itself away again, and loses the context of a search that fails."""
    model_package(tmp_path, monkeypatch)
    root, token = get_dispatcher(), otel_context.attach(Context())
    spans, events = list(root.span_handlers), list(root.event_handlers)
    yield
    root.span_handlers, root.event_handlers = spans, events
    otel_context.detach(token)


@pytest.fixture
def ledger(spans: Spans) -> Iterator[MemoryLedger]:
    with memory_ledger(tracer_provider=spans.provider) as ledger:
        yield ledger
        assert ledger.guard.faults == {}


@pytest.fixture
def within(ledger: MemoryLedger, spans: Spans) -> Callable[..., Any]:
    return entering({"ours": OURS, **LLAMA_INDEX}, ledger, spans)


def _raise(_: QueryBundle) -> Any:
    raise LookupError("x")


INDEX = vector_index()  # built before anybody watches


def found() -> Any:
    return INDEX.as_retriever().retrieve("q")


def found_later() -> Any:
    return asyncio.run(INDEX.as_retriever().aretrieve("q"))


def failed() -> None:
    with pytest.raises(LookupError):
        BodyRetriever(_raise).retrieve("q")


def failed_later() -> None:
    with pytest.raises(LookupError):
        asyncio.run(BodyRetriever(_raise).aretrieve("q"))


def cancelled() -> None:
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(SlowRetriever(60).aretrieve("q"), 0.05))


ENDINGS = [
    (found, "ok"),
    (found_later, "ok"),
    (failed, "error"),
    (failed_later, "error"),
    (cancelled, "cancelled"),
]


@pytest.mark.parametrize("order", orders(list(LLAMA_INDEX)), ids="-".join)
def test_d07_one_search_is_one_row_and_one_span_of_ours_around_theirs(
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
            assert {span.context.trace_id for span in spans.finished} == {ours.context.trace_id}
            # Of a search that failed, traceloop never ends its span: who has it for a parent has lost it.
            if status == "ok" or "traceloop" not in order:
                assert all(is_below(span, ours, spans) for span in of_others(spans))
            assert not [span for span in spans.finished if scope_of(span).startswith(OFFICIAL)]
            assert nothing_current()


def test_the_others_do_make_their_spans(within: Callable[..., Any], spans: Spans) -> None:
    """Without this the test above could pass because nobody was there."""
    with within("ours", "openinference", "traceloop"):
        found()
    assert {scope_of(span) for span in of_others(spans)} == {
        "openinference.instrumentation.llama_index",
        "opentelemetry.instrumentation.llamaindex",
    }


def test_the_official_one_alone_makes_its_span(within: Callable[..., Any], spans: Spans) -> None:
    with within("official"):
        found()
    assert [scope_of(span) for span in spans.finished] == ["opentelemetry.instrumentation.genai.llama_index"]


@pytest.mark.parametrize("search", [found, found_later])
def test_where_the_official_one_comes_first_our_id_is_on_its_span(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans, search: Callable[[], Any]
) -> None:
    """Once: from the second search on we are the first to see it."""
    root = get_dispatcher()
    with within("ours", "official"):
        *rest, theirs = root.span_handlers
        root.span_handlers = [theirs, *rest]
        apart(search)
        (span,) = spans.finished
        (row,) = ledger.searches
        assert scope_of(span) == row.span_owner == "opentelemetry.instrumentation.genai.llama_index"
        assert ids_of(span) == (row.trace_id, row.span_id)
        assert span.attributes[SEARCH_ID] == str(row.search_id)
        assert span.attributes["gen_ai.operation.name"] == "retrieval"
        assert nothing_current()
        spans.exporter.clear()
        apart(search)
        assert [scope_of(span) for span in spans.finished] == ["ragledger"]


@pytest.mark.parametrize("search", [found, found_later, failed, failed_later, cancelled])
def test_where_openinference_comes_first_our_id_is_on_its_retriever_span(
    within: Callable[..., Any], ledger: MemoryLedger, spans: Spans, search: Callable[[], Any]
) -> None:
    root = get_dispatcher()
    with within("ours", "openinference"):
        *rest, theirs = root.span_handlers
        root.span_handlers = [theirs, *rest]
        apart(search)
        (ours,) = of_ours(spans)
        told = [span for span in of_others(spans) if SEARCH_ID in span.attributes]
        assert [span.attributes["openinference.span.kind"] for span in told] == ["RETRIEVER"]
        assert told[0].attributes[SEARCH_ID] == ours.attributes[SEARCH_ID] == str(ledger.row.search_id)
        assert ours.parent.span_id == told[0].context.span_id
        assert ledger.row.span_owner == "ours"
        assert nothing_current()


def test_a_retriever_inside_a_query_engine_is_told_on_no_span_but_its_own(
    within: Callable[..., Any], spans: Spans
) -> None:
    from llama_index.core.llms import MockLLM

    with within("openinference", "ours"):
        INDEX.as_query_engine(llm=MockLLM()).query("q")
    assert [scope_of(span) for span in spans.finished if SEARCH_ID in span.attributes] == ["ragledger"]
    assert len({span.context.trace_id for span in spans.finished}) == 1


def test_the_members_of_a_composite_have_spans_of_ours_alone(
    within: Callable[..., Any], spans: Spans
) -> None:
    with within("official", "ours"):
        BodyRetriever(ListRetriever(scored(("a", 0.9))).retrieve).retrieve("q")
    inner, outer = spans.finished
    assert [scope_of(span) for span in spans.finished] == ["ragledger", "ragledger"]
    assert inner.parent.span_id == outer.context.span_id
