"""What a span processor of the application's attaches when a search's span starts is there during the search."""

from __future__ import annotations

import pytest
from opentelemetry import baggage
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from ragledger.spans.rerank import narrate_rerank
from ragledger.testing import CapturedSpans, memory_ledger


class Attaching(SpanProcessor):
    """Has the trace of a request in the baggage for as long as its span runs."""

    def __init__(self) -> None:
        self.tokens: dict[int, object] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        token = otel_context.attach(baggage.set_baggage("inside", span.name))
        self.tokens[span.context.span_id] = token

    def on_end(self, span: ReadableSpan) -> None:
        otel_context.detach(self.tokens.pop(span.context.span_id))  # type: ignore[arg-type]


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_processor_attaches_is_there_during_the_search_and_gone_after_it(fails: bool) -> None:
    spans = CapturedSpans()
    spans.provider.add_span_processor(processor := Attaching())
    with memory_ledger(tracer_provider=spans.provider) as ledger:
        outside = otel_context.attach(baggage.set_baggage("outside", "yes"))
        before = otel_context.get_current()
        try:
            with ledger.search():
                inside = dict(baggage.get_all())
                current = otel_context.get_current()
                with narrate_rerank(ledger):
                    deeper = dict(baggage.get_all())
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        after = otel_context.get_current()
        otel_context.detach(outside)

    assert inside == {"outside": "yes", "inside": "retrieval"}
    assert deeper["inside"] != "retrieval"
    assert (after, processor.tokens) == (before, {})
    assert current != before
