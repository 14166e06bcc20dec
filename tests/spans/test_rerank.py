"""The step of a reranker: a child of the search's span, by OpenInference's names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from fix_spans import Spans
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.trace import SpanKind, StatusCode

import ragledger
from ragledger.spans import RERANK_ATTRIBUTES
from ragledger.spans.rerank import narrate_rerank
from ragledger.testing import MemoryLedger, MemoryNarrator, memory_ledger


@pytest.fixture
def ledger(spans: Spans) -> Iterator[MemoryLedger]:
    with memory_ledger(tracer_provider=spans.provider) as ledger:
        yield ledger
        assert ledger.guard.faults == {}


def test_it_is_a_child_of_the_search_and_says_exactly_this(ledger: MemoryLedger, spans: Spans) -> None:
    with ledger.search() as search, narrate_rerank(ledger, model_name="m", top_k=3, candidate_count=20):
        inside = trace.get_current_span().get_span_context().span_id
    step, around = spans.finished
    assert dict(step.attributes) == {
        "openinference.span.kind": "RERANKER",
        "reranker.model_name": "m",
        "reranker.top_k": 3,
        "ragledger.rerank.candidate.count": 20,
        "ragledger.search.id": str(search.receipt.search_id),
    }
    assert (step.name, step.kind, step.status.status_code) == ("rerank", SpanKind.INTERNAL, StatusCode.UNSET)
    assert step.parent.span_id == around.context.span_id
    assert inside == step.context.span_id
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_p8_what_is_not_known_is_not_said_and_odd_values_break_nothing(
    ledger: MemoryLedger, spans: Spans
) -> None:
    with narrate_rerank(ledger):
        pass
    with narrate_rerank(ledger, model_name=object(), top_k="many", candidate_count=-1):  # type: ignore[arg-type]
        pass
    bare, odd = spans.finished
    assert set(bare.attributes) == {"openinference.span.kind"}
    assert set(odd.attributes) <= RERANK_ATTRIBUTES


def test_p9_an_error_is_said_by_its_class_and_passes(ledger: MemoryLedger, spans: Spans) -> None:
    fault = LookupError("ZEBRA")
    with pytest.raises(LookupError) as caught, narrate_rerank(ledger):
        raise fault
    assert caught.value is fault
    (span,) = spans.finished
    assert span.attributes["error.type"] == "LookupError"
    assert (span.status.status_code, span.status.description, span.events) == (StatusCode.ERROR, None, ())


async def test_a_cancelled_step_is_no_error_and_ends(ledger: MemoryLedger, spans: Spans) -> None:
    async def step() -> None:
        with narrate_rerank(ledger):
            await asyncio.sleep(60)

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(step(), 0.01)
    (span,) = spans.finished
    assert span.attributes["error.type"] == "asyncio.exceptions.CancelledError"
    assert span.status.status_code is StatusCode.UNSET


def test_suppressed_there_is_none(ledger: MemoryLedger, spans: Spans) -> None:
    with suppress_instrumentation(), narrate_rerank(ledger):
        pass
    with ragledger.suppress(), narrate_rerank(ledger):
        pass
    assert spans.finished == []


@pytest.mark.parametrize("given", [{}, {"narrator": MemoryNarrator()}])
def test_without_anybody_who_traces_the_work_is_done(given: dict[str, Any]) -> None:
    ledger = MemoryLedger(**given)
    with narrate_rerank(ledger, model_name="m"):
        done = True
    ledger.close()
    assert done
