"""The span is current during the search and nowhere else, in every order with handlers that attach context too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, scored
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.span import BaseSpan
from llama_index_instrumentation.span_handlers import BaseSpanHandler
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

from ragledger import Ledger
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor

pytestmark = pytest.mark.pg


class AttachingHandler(BaseSpanHandler[BaseSpan]):
    """Does what OpenInference does: a span per dispatcher span, attached on enter and detached on exit."""

    def __init__(self, name: str) -> None:
        super().__init__()
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "tokens", {})

    def new_span(self, id_: str, *args: Any, **kwargs: Any) -> BaseSpan:
        span = trace.NonRecordingSpan(
            trace.SpanContext(
                hash(self.name) & (2**127 - 1) | 1, hash(id_) & (2**63 - 1) | 1, is_remote=False
            )
        )
        self.tokens[id_] = otel_context.attach(trace.set_span_in_context(span))
        return BaseSpan(id_=id_)

    def prepare_to_exit_span(self, id_: str, *args: Any, **kwargs: Any) -> Any:
        otel_context.detach(self.tokens.pop(id_))
        return self.open_spans[id_]

    def prepare_to_drop_span(self, id_: str, *args: Any, **kwargs: Any) -> Any:
        return self.prepare_to_exit_span(id_)


@pytest.fixture
def traced(make_ledger: Callable[..., Ledger], spans: Any) -> Ledger:
    return make_ledger(tracer_provider=spans.provider)


def current_span_id() -> int:
    return trace.get_current_span().get_span_context().span_id


async def test_d02_a_span_made_during_the_search_is_its_child_and_none_is_left_over(traced, spans, rows):
    tracer = spans.provider.get_tracer("app")

    def database_call(_: QueryBundle) -> list[NodeWithScore]:
        with tracer.start_as_current_span("db"):
            return scored(("a", 0.9))

    retriever = BodyRetriever(
        database_call, callback_manager=CallbackManager([LedgerCallbackHandler(traced)])
    )
    retriever.retrieve("q")
    assert not trace.get_current_span().get_span_context().is_valid
    await retriever.aretrieve("q")
    assert not trace.get_current_span().get_span_context().is_valid
    first_db, first, second_db, second = spans.finished
    for database, ours in ((first_db, first), (second_db, second)):
        assert (database.name, ours.name) == ("db", "retrieval")
        assert database.parent.span_id == ours.context.span_id
    stored = rows("span_id, trace_id, span_owner, sampled", traced)
    assert stored == [
        (s.context.span_id.to_bytes(8, "big"), s.context.trace_id.to_bytes(16, "big"), "ours", True)
        for s in (first, second)
    ]


@pytest.mark.parametrize("error", [False, True])
@pytest.mark.parametrize("installed", ["before ours", "after ours", "at the front later", "at the end later"])
def test_no_ended_span_stays_current_in_any_order(traced, spans, rows, installed, error):
    root = get_dispatcher()
    root.span_handlers = [
        handler for handler in root.span_handlers if type(handler).__module__[:9] != "ragledger"
    ]
    other = AttachingHandler("other")
    if installed == "before ours":
        root.add_span_handler(other)
    manager = CallbackManager([LedgerCallbackHandler(traced)])
    if installed == "after ours":
        root.add_span_handler(other)
    inside: list[bool] = []

    def body(_: QueryBundle) -> list[NodeWithScore]:
        # The other's handler attaches inside of ours, so ours is the parent there: look for it in the chain.
        inside.append(current_span_id() != 0)
        if error:
            raise LookupError
        return scored(("a", 0.9))

    retriever = BodyRetriever(body, callback_manager=manager)
    for turn in range(4):
        if turn == 1 and installed == "at the front later":
            root.span_handlers = [other, *root.span_handlers]
        if turn == 1 and installed == "at the end later":
            root.add_span_handler(other)
        if error:
            with pytest.raises(LookupError):
                retriever.retrieve("q")
        else:
            retriever.retrieve("q")
        assert current_span_id() == 0, f"a span is left over after search {turn}"
    assert inside == [True] * 4
    assert not other.tokens
    assert rows("status, depth", traced) == [("error" if error else "ok", 0)] * 4
    assert [type(root.span_handlers[place]).__name__ for place in (0, -1)] == ["_Opener", "_Closer"]


def test_our_span_is_the_parent_of_the_others(traced, spans):
    root = get_dispatcher()
    manager = CallbackManager([LedgerCallbackHandler(traced)])
    seen: list[int] = []

    class Looking(AttachingHandler):
        def new_span(self, id_: str, *args: Any, **kwargs: Any) -> BaseSpan:
            seen.append(current_span_id())
            return super().new_span(id_)

    root.add_span_handler(Looking("looking"))
    retriever = ListRetriever(scored(("a", 0.9)), callback_manager=manager)
    retriever.retrieve("q")
    retriever.retrieve("q")
    first, second = spans.finished
    assert first.context.span_id in seen
    assert second.context.span_id in seen


def test_open_spans_stay_empty_and_the_dispatcher_can_shut_down(traced, rows):
    manager = CallbackManager([LedgerCallbackHandler(traced)])
    root = get_dispatcher()
    opener, closer = root.span_handlers[0], root.span_handlers[-1]
    for _ in range(100):
        ListRetriever(scored(("a", 0.9)), callback_manager=manager).retrieve("q")
    for handler in (opener, closer):
        assert not handler.open_spans
        assert not handler.completed_spans
        assert not handler.dropped_spans

    def shuts_down(_: QueryBundle) -> list[NodeWithScore]:
        root.shutdown()  # drops what handlers call open; our search is not over
        return scored(("a", 0.9))

    BodyRetriever(shuts_down, callback_manager=manager).retrieve("q")
    assert set(rows("status", traced)) == {"ok"}


def test_d24_suppressed_instrumentation_makes_no_span_and_still_writes_the_row(traced, spans, rows):
    retriever = ListRetriever(
        scored(("a", 0.9)), callback_manager=CallbackManager([LedgerCallbackHandler(traced)])
    )
    with suppress_instrumentation():
        retriever.retrieve("q")
    assert spans.finished == []
    assert rows("status, span_id", traced) == [("ok", None)]


def test_nested_searches_are_nested_spans(traced, spans):
    LlamaIndexInstrumentor().instrument(ledger=traced)
    BodyRetriever(ListRetriever(scored(("a", 0.9))).retrieve).retrieve("q")
    inner, outer = spans.finished
    assert inner.parent.span_id == outer.context.span_id
    assert outer.parent is None
    assert inner.attributes["ragledger.search.parent_id"] == outer.attributes["ragledger.search.id"]


def test_latency_excludes_the_work_of_other_handlers_on_the_dispatcher(traced, rows):
    import time

    class Slow(AttachingHandler):
        def new_span(self, id_: str, *args: Any, **kwargs: Any) -> BaseSpan:
            if ".retrieve-" in id_:
                time.sleep(0.5)
            return super().new_span(id_)

        def prepare_to_exit_span(self, id_: str, *args: Any, **kwargs: Any) -> Any:
            if ".retrieve-" in id_:
                time.sleep(0.5)
            return super().prepare_to_exit_span(id_)

    root = get_dispatcher()
    manager = CallbackManager([LedgerCallbackHandler(traced)])
    root.add_span_handler(Slow("slow"))
    retriever = ListRetriever(scored(("a", 0.9)), callback_manager=manager)
    retriever.retrieve("q")  # puts the closer behind the new handler
    retriever.retrieve("q")
    assert rows("latency_ms", traced)[1] < 500  # neither of the two waits is in it
