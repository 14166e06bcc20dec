"""What is not there, or has become something else in a later release, costs the cooperation and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from fix_spans import Spans
from opentelemetry import context as otel_context
from opentelemetry import trace

from ragledger import Candidate
from ragledger.testing import MemoryLedger, memory_ledger

UTIL_GENAI = "opentelemetry.util.genai.invocation"
OPENINFERENCE = "openinference.instrumentation"
KEY = "opentelemetry.genai.client.retrieval.context"


class Broken:
    """Everything of it raises."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("drift")


class Slotted:
    __slots__ = ()
    attributes = None


class Frozen:
    """Still has attributes, and they cannot be written."""

    class attributes(dict):  # type: ignore[type-arg]
        pass

    def __init__(self) -> None:
        self.attributes = Refusing()  # type: ignore[assignment,misc]


class Refusing(dict):  # type: ignore[type-arg]
    def update(self, *_: Any, **__: Any) -> None:
        raise TypeError("read only")


def module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made


@pytest.fixture
def ledger(spans: Spans) -> Iterator[MemoryLedger]:
    with memory_ledger(tracer_provider=spans.provider) as ledger:
        yield ledger
        assert ledger.guard.faults == {}


def has_a_span_of_its_own(ledger: MemoryLedger, spans: Spans) -> bool:
    with ledger.search() as search:
        assert trace.get_current_span().is_recording()
    (span,) = spans.finished
    assert ledger.row.span_owner == "ours"
    return bool(span.attributes["ragledger.search.id"] == str(search.receipt.search_id))


@pytest.mark.parametrize(
    "found",
    [
        module(UTIL_GENAI),
        module(UTIL_GENAI, RetrievalData=Broken),
        module(UTIL_GENAI, RetrievalData="not a class"),
        None,
    ],
    ids=["without RetrievalData", "RetrievalData raises", "RetrievalData is a text", "None in sys.modules"],
)
def test_a_util_genai_that_has_changed(
    ledger: MemoryLedger, spans: Spans, monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    monkeypatch.setitem(sys.modules, UTIL_GENAI, found)
    assert has_a_span_of_its_own(ledger, spans)


@pytest.mark.parametrize(
    "data", ["text", Slotted(), Frozen(), {"attributes": {}}], ids=["text", "slotted", "frozen", "a dict"]
)
def test_something_else_under_their_key(
    ledger: MemoryLedger, spans: Spans, monkeypatch: pytest.MonkeyPatch, data: Any
) -> None:
    monkeypatch.setitem(sys.modules, UTIL_GENAI, module(UTIL_GENAI, RetrievalData=Broken))
    token = otel_context.attach(otel_context.set_value(KEY, data))
    try:
        assert has_a_span_of_its_own(ledger, spans)
    finally:
        otel_context.detach(token)


class Said:
    """As `RetrievalData`, of a retrieval that is open."""

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}
        self.data_source_id = None


@pytest.mark.parametrize(
    ("scope", "owner"),
    [
        ("opentelemetry.instrumentation.genai.langchain", "opentelemetry.instrumentation.genai.langchain"),
        ("opentelemetry.util.genai.handler", "opentelemetry.util.genai.handler"),
        ("acme.app", "ours"),
    ],
)
def test_their_span_is_written_on_only_where_it_is_the_current_one(
    ledger: MemoryLedger, spans: Spans, monkeypatch: pytest.MonkeyPatch, scope: str, owner: str
) -> None:
    monkeypatch.setitem(sys.modules, UTIL_GENAI, module(UTIL_GENAI, RetrievalData=Said))
    data = Said()
    with spans.provider.get_tracer(scope).start_as_current_span("around") as around:
        token = otel_context.attach(otel_context.set_value(KEY, data))
        try:
            with ledger.search() as search:
                search.candidates(Candidate("a"))
        finally:
            otel_context.detach(token)
    row = ledger.row
    assert row.span_owner == owner
    is_theirs = row.span_id == around.get_span_context().span_id.to_bytes(8, "big")
    assert is_theirs == (owner != "ours") == bool(data.attributes)
    assert len(spans.finished) == (1 if is_theirs else 2)


@pytest.mark.parametrize(
    "members",
    [{}, {"LangChainInstrumentor": Broken}, {"LangChainInstrumentor": object, "get_current_span": Broken}],
    ids=["empty", "raises", "without is_instrumented"],
)
def test_an_openinference_that_has_changed(
    ledger: MemoryLedger, spans: Spans, monkeypatch: pytest.MonkeyPatch, members: dict[str, Any]
) -> None:
    monkeypatch.setitem(sys.modules, OPENINFERENCE, module(OPENINFERENCE))
    name = OPENINFERENCE + ".langchain"
    monkeypatch.setitem(sys.modules, name, module(name, **members))
    assert has_a_span_of_its_own(ledger, spans)


def test_a_current_span_that_is_no_span_of_the_sdk(
    ledger: MemoryLedger, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(trace.NonRecordingSpan):
        def is_recording(self) -> bool:
            return True

        @property
        def instrumentation_scope(self) -> Any:
            raise AttributeError("not here")

    monkeypatch.setitem(sys.modules, OPENINFERENCE, module(OPENINFERENCE))
    with trace.use_span(Odd(trace.SpanContext(7, 9, is_remote=False, trace_flags=trace.TraceFlags(1)))):
        assert has_a_span_of_its_own(ledger, spans)


_NOTHING_IMPORTED = """
import sys
from opentelemetry.sdk.trace import TracerProvider
from ragledger.testing import memory_ledger
with memory_ledger(tracer_provider=TracerProvider()) as ledger:
    with ledger.search():
        pass
loaded = [name for name in sys.modules if "genai" in name or name.startswith("openinference")]
assert loaded == [], loaded
"""


def test_nothing_of_theirs_is_imported_by_us() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _NOTHING_IMPORTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
