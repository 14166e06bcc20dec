"""P9 behind the Collector: nothing of what the other instrumentors leak is left after the statements of otelcol.yaml."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from collector.otelcol import Span, config, redacted
from fix_spans import Spans
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan
from privacy.canaries import CHUNK, ERROR, META, QUERY, found_in
from privacy.world import langchain_searches, llama_index_searches
from spans.others import LANGCHAIN, LLAMA_INDEX, instrumented, model_package, scope_of

from ragledger import Ledger

NAMES = {"traceloop.entity.name"}
EVERYTHING = {QUERY, CHUNK, META, ERROR}


@pytest.fixture
def _process_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from langchain_core.callbacks import BaseCallbackManager
    from llama_index_instrumentation import get_dispatcher

    model_package(tmp_path / "models", monkeypatch)
    root, init, token = get_dispatcher(), BaseCallbackManager.__init__, otel_context.attach(Context())
    handlers, events = list(root.span_handlers), list(root.event_handlers)
    yield
    root.span_handlers, root.event_handlers = handlers, events
    BaseCallbackManager.__init__ = init  # type: ignore[method-assign]
    otel_context.detach(token)


def as_json(span: ReadableSpan) -> Span:
    return {**json.loads(span.to_json()), "scope": scope_of(span)}


def without_names(span: Span) -> Span:
    """What an application calls a run (`run_name`) is a name and stays, as the name of the span does."""
    attributes = {key: value for key, value in span["attributes"].items() if key not in NAMES}
    return {**span, "name": "", "attributes": attributes}


@pytest.mark.pg
@pytest.mark.usefixtures("_process_state")
@pytest.mark.parametrize(
    ("others", "searches"),
    [(LANGCHAIN, langchain_searches), (LLAMA_INDEX, llama_index_searches)],
    ids=["langchain", "llama_index"],
)
def test_p9_spans_of_every_instrumentor_lose_their_text(
    make_ledger: Callable[..., Ledger],
    spans: Spans,
    monkeypatch: pytest.MonkeyPatch,
    others: dict[str, str],
    searches: Callable[[Ledger], Any],
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    monkeypatch.setenv("OPENINFERENCE_ENABLE_GENAI_SEMCONV", "true")
    ledger = make_ledger(ship="sidecar", tracer_provider=spans.provider)
    with instrumented([(where, {"tracer_provider": spans.provider}) for where in others.values()]):
        asyncio.run(searches(ledger))
    sent = [as_json(span) for span in spans.finished]
    assert {canary for span in sent for canary in found_in(json.dumps(span))} >= EVERYTHING
    left = [without_names(redacted(span)) for span in sent]
    assert {
        (span["scope"], key, *found_in(json.dumps(value)))
        for span in left
        for owner in (span, *span["events"])
        for key, value in owner["attributes"].items()
        if found_in(json.dumps(value))
    } == set()
    assert {canary for span in left for canary in found_in(json.dumps(span))} == set()
    assert {span["attributes"].get("openinference.span.kind") for span in left} >= {"RETRIEVER"}


def test_what_is_no_text_stays() -> None:
    ours = {
        "gen_ai.operation.name": "retrieval",
        "openinference.span.kind": "RETRIEVER",
        "ragledger.search.id": "0199",
        "gen_ai.retrieval.documents": '[{"id": "a", "score": 0.5}]',
        "retrieval.documents.0.document.id": "a",
        "retrieval.documents.0.document.score": 0.5,
        "error.type": "TimeoutError",
        "llm.model_name": "m",
        "llm.token_count.prompt": 7,
        "gen_ai.usage.input_tokens": 7,
        "reranker.model_name": "r",
        "annotations.0.annotation.label": "relevant",
    }
    span = {"scope": "ragledger", "attributes": ours, "events": [], "status": {"status_code": "ERROR"}}
    assert redacted(span) == span
    theirs = redacted({**span, "scope": "openinference.instrumentation.langchain"})
    assert ours.keys() - theirs["attributes"].keys() == {"gen_ai.retrieval.documents"}


def test_text_goes_before_anything_is_queued_and_under_a_memory_limit() -> None:
    for name, pipeline in config()["service"]["pipelines"].items():
        assert pipeline["processors"][0] == "memory_limiter"
        assert pipeline["processors"][-1] == "batch"
        assert ("transform/no_text" in pipeline["processors"]) == (name == "traces")
    assert config()["processors"]["transform/no_text"]["error_mode"] == "propagate"
