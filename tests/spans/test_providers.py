"""Whatever tracing is there or not, late or broken or switched off: the row is written and the search goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database
from fix_spans import Spans
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.instrumentation.utils import is_instrumentation_enabled, suppress_instrumentation
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from ragledger import Candidate, Ledger
from ragledger.spans import quietly

pytestmark = pytest.mark.pg

TRACE = "SELECT trace_id, span_id, sampled, span_owner FROM searches"


def test_without_an_sdk_the_row_has_no_trace(ledger: Ledger, database: Database) -> None:
    _search(ledger)

    assert ledger.flush()
    assert database.rows(TRACE) == [(None, None, None, None)]


def test_without_an_sdk_the_row_names_the_trace_that_came_with_the_request(
    ledger: Ledger, database: Database
) -> None:
    """A gateway traces, this process does not: the ids lead there, and the span is not ours."""
    remote = NonRecordingSpan(SpanContext(7, 9, is_remote=True, trace_flags=TraceFlags(1)))
    with trace.use_span(remote):
        _search(ledger)

    assert ledger.flush()
    assert database.rows(TRACE) == [((7).to_bytes(16, "big"), (9).to_bytes(8, "big"), True, None)]


_WITHOUT_SDK = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.instrumentation")):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import ragledger
ledger = ragledger.open(sys.argv[1], strict=True)
with ledger.search(corpus="handbook") as search:
    search.candidates(ragledger.Candidate("c1"))
ledger.vote(search.receipt.search_id, "c1", "relevant")
assert ledger.flush()
assert ledger.facts()["faults"] == {}, ledger.facts()
assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")]
"""


def test_where_no_sdk_is_installed_nothing_breaks(database: Database) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", _WITHOUT_SDK, database.dsn],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert database.rows(TRACE) == [(None, None, None, None)]


_LATE_PROVIDER = """
import sys, ragledger
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ledger = ragledger.open(sys.argv[1], strict=True)
with ledger.search():
    pass
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
with ledger.search() as search:
    pass
assert ledger.flush()
(span,) = exporter.get_finished_spans()
assert span.attributes["ragledger.search.id"] == str(search.receipt.search_id)
"""


def test_a_provider_that_is_set_after_the_ledger_was_opened_is_used(database: Database) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", _LATE_PROVIDER, database.dsn],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert database.rows("SELECT sampled FROM searches ORDER BY search_id") == [(None,), (True,)]


def test_a_search_that_is_not_sampled_has_a_row_that_says_so(
    make_ledger: Callable[..., Ledger], database: Database
) -> None:
    """By the flag and not by its number: the SDK also sets a random bit."""
    ledger = make_ledger(tracer_provider=TracerProvider(sampler=ALWAYS_OFF))
    _search(ledger)

    assert ledger.flush()
    assert database.rows("SELECT trace_id IS NULL, sampled FROM searches") == [(False, False)]


def test_p4_nothing_is_worked_out_for_a_span_that_is_not_sampled(
    make_ledger: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr("ragledger.spans.narrator.closing_attributes", never)
    monkeypatch.setattr("ragledger.spans.contents._admitted", never)
    off = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    _search(make_ledger(tracer_provider=off, span_document_ids=True))


# --- suppression -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [otel_context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"],
    ids=["key of the API", "older plain key"],  # the former is made anew per process
)
def test_suppressed_instrumentation_costs_the_span_and_not_the_row(
    make_ledger: Callable[..., Ledger], spans: Spans, database: Database, key: str
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    token = otel_context.attach(otel_context.set_value(key, True))
    _search(ledger)
    otel_context.detach(token)

    assert ledger.flush()
    assert spans.finished == []
    assert database.rows(TRACE) == [(None, None, None, None)]


def test_what_others_call_suppression_is_understood_and_ours_by_them(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    with suppress_instrumentation():
        _search(ledger)
    with quietly():
        assert not is_instrumentation_enabled()

    assert is_instrumentation_enabled()
    assert spans.finished == []


def test_our_own_sql_makes_no_spans(
    make_ledger: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements of the shipper and of the check of a vote run suppressed, as the driver's instrumentation asks."""
    enabled: dict[str, set[bool]] = {"execute": set(), "copy": set()}
    for name, seen in enabled.items():
        plain = getattr(psycopg.Cursor, name)

        def watched(*args: Any, plain: Any = plain, seen: set[bool] = seen, **given: Any) -> Any:
            seen.add(is_instrumentation_enabled())
            return plain(*args, **given)

        monkeypatch.setattr(psycopg.Cursor, name, watched)
    ledger, other = make_ledger(), make_ledger(name="other")
    search_id = _search(ledger)
    assert ledger.flush()
    assert other.vote(search_id, rank=1, outcome="relevant").status == "journalled"
    assert other.flush()

    assert enabled == {"execute": {False}, "copy": {False}}


# --- broken tracing ----------------------------------------------------------------------------------------


class _Broken(SpanProcessor):
    def __init__(self, at: str) -> None:
        self._at = at

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self._at == "start":
            raise RuntimeError("on_start")

    def on_end(self, span: ReadableSpan) -> None:
        if self._at == "end":
            raise RuntimeError("on_end")


class _BrokenExporter(SpanExporter):
    def export(self, spans: object) -> SpanExportResult:
        raise RuntimeError("export")


@pytest.mark.parametrize("at", ["start", "end"])
def test_p3_a_span_processor_that_raises_costs_neither_the_search_nor_the_row(
    make_ledger: Callable[..., Ledger], database: Database, at: str
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(_Broken(at))
    ledger = make_ledger(tracer_provider=provider, strict=False)

    search_id = _search(ledger)

    assert trace.get_current_span().get_span_context().span_id == 0
    assert ledger.facts()["faults"] == {"span": 1}
    assert ledger.flush()
    assert database.rows("SELECT search_id, status, admitted_count FROM searches") == [(search_id, "ok", 1)]


def test_p3_the_hosts_exception_passes_a_broken_span_processor(make_ledger: Callable[..., Ledger]) -> None:
    provider = TracerProvider()
    provider.add_span_processor(_Broken("end"))
    ledger = make_ledger(tracer_provider=provider, strict=False)
    raised = KeyError("the host's own")

    with pytest.raises(KeyError) as caught, ledger.search():
        raise raised
    assert caught.value is raised


def test_p3_an_exporter_that_raises_costs_nothing(
    make_ledger: Callable[..., Ledger], database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_BrokenExporter()))
    ledger = make_ledger(tracer_provider=provider)

    search_id = _search(ledger)

    assert ledger.flush()
    assert database.rows("SELECT search_id FROM searches") == [(search_id,)]
    assert ledger.facts()["faults"] == {}


def _search(ledger: Ledger) -> UUID:
    with ledger.search(corpus="handbook") as search:
        search.candidates(Candidate("c1", score=0.5))
    assert search.receipt.search_id is not None
    return search.receipt.search_id
