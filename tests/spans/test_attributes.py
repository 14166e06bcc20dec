"""What the span of a search says: exact names, types and values, and no text (P1, P9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database
from fix_spans import Spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from ragledger import Candidate, Ledger
from ragledger.spans import ATTRIBUTES

pytestmark = pytest.mark.pg

WEIGHTS = {"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "candidates_per_signal": 20}
FULL = (
    Candidate("c1", document_id="d1", score=0.47, vector=0.71, lexical=0.12),
    Candidate("c2", document_id="d1", score=0.30, vector=0.40, lexical=0.15),
    Candidate("c3", document_id="d2", score=0.05, vector=0.07, lexical=0.02, admitted=False),
)


@pytest.fixture
def ledger(make_ledger: Callable[..., Ledger], spans: Spans) -> Ledger:
    return make_ledger(tracer_provider=spans.provider)


def test_p9_the_span_of_a_search_says_exactly_this(ledger: Ledger, spans: Spans) -> None:
    with ledger.search(corpus="handbook", surface="study", top_k=10, weights=WEIGHTS) as search:
        search.candidates(*FULL)

    (span,) = spans.finished
    assert said_by(span) == {
        "gen_ai.operation.name": "retrieval",
        "openinference.span.kind": "RETRIEVER",
        "gen_ai.data_source.id": "handbook",
        "gen_ai.retrieval.top_k": 10,
        "ragledger.search.id": str(search.receipt.search_id),
        "ragledger.surface": "study",
        "ragledger.framework": "application",
        "ragledger.weights.vector": 0.6,
        "ragledger.weights.lexical": 0.4,
        "ragledger.weights.threshold": 0.2,
        "ragledger.weights.epoch": epoch_of(ledger, search.receipt.search_id),
        "ragledger.candidate.count": 3,
        "ragledger.admitted.count": 2,
    }
    assert (span.name, span.kind) == ("retrieval", SpanKind.INTERNAL)
    assert (span.status.status_code, span.status.description) == (StatusCode.UNSET, None)
    assert (span.events, span.links) == ((), ())
    scope = span.instrumentation_scope
    assert scope is not None
    assert (scope.name, scope.version, scope.schema_url) == ("ragledger", version("ragledger"), "")


def test_the_types_are_those_of_the_conventions(ledger: Ledger, spans: Spans) -> None:
    with ledger.search(top_k=10, weights={"vector": 1, "threshold": 0}) as search:
        search.candidates(*FULL, *[Candidate(f"more-{n}", admitted=False) for n in range(60)])
        search.degrade("no_index")

    said = said_by(spans.finished[0])
    types = {name: type(value) for name, value in said.items()}
    assert {name for name, kind in types.items() if kind is float} == {
        "ragledger.weights.vector",
        "ragledger.weights.threshold",
    }
    assert {name for name, kind in types.items() if kind is int} == {
        "gen_ai.retrieval.top_k",
        "ragledger.candidate.count",
        "ragledger.admitted.count",
        "ragledger.hit.count",
    }
    assert {name for name, kind in types.items() if kind is bool} == {"ragledger.degraded"}


def test_p8_what_is_not_known_is_not_said(ledger: Ledger, spans: Spans) -> None:
    with ledger.search():
        pass

    assert set(said_by(spans.finished[0])) == {
        "gen_ai.operation.name",
        "openinference.span.kind",
        "ragledger.search.id",
        "ragledger.framework",
        "ragledger.weights.epoch",
    }


def test_what_a_sampler_decides_by_is_said_at_the_start(ledger: Ledger, spans: Spans) -> None:
    with ledger.search(corpus="handbook", surface="study", top_k=10) as search:
        span: Any = search.narration.span  # type: ignore[union-attr]
        assert dict(span.attributes) == {
            "gen_ai.operation.name": "retrieval",
            "openinference.span.kind": "RETRIEVER",
            "gen_ai.data_source.id": "handbook",
            "gen_ai.retrieval.top_k": 10,
            "ragledger.search.id": str(search.search_id),
            "ragledger.surface": "study",
            "ragledger.framework": "application",
        }


def test_p9_an_error_is_said_by_its_class_and_nothing_else(ledger: Ledger, spans: Spans) -> None:
    with pytest.raises(ConnectionError), ledger.search():
        raise ConnectionError("what is the meaning of ZEBRA")

    (span,) = spans.finished
    assert said_by(span)["error.type"] == "ConnectionError"
    assert "ragledger.candidate.count" not in said_by(span)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.events == ()
    assert "ZEBRA" not in span.to_json()


def test_an_error_of_a_library_is_named_in_full(ledger: Ledger, spans: Spans) -> None:
    class ProviderDown(Exception):
        pass

    with pytest.raises(ProviderDown), ledger.search():
        raise ProviderDown

    assert said_by(spans.finished[0])["error.type"] == f"{__name__}.{ProviderDown.__qualname__}"


async def test_a_cancelled_search_is_no_error_and_its_span_says_what_ended_it(
    ledger: Ledger, spans: Spans
) -> None:
    started = asyncio.Event()

    async def search() -> None:
        with ledger.search():
            started.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(search())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    (span,) = spans.finished
    assert said_by(span)["error.type"] == "asyncio.exceptions.CancelledError"
    assert (span.status.status_code, span.status.description) == (StatusCode.UNSET, None)
    assert span.events == ()


def test_a_degraded_search_says_why(ledger: Ledger, spans: Spans) -> None:
    with ledger.search() as search:
        search.degrade("embedding_unavailable", vector_available=False)

    said = said_by(spans.finished[0])
    assert said["ragledger.degraded"] is True
    assert said["ragledger.degraded.reason"] == "embedding_unavailable"


def test_a_member_of_a_composite_names_its_parent(ledger: Ledger, spans: Spans) -> None:
    with ledger.search() as outer, ledger.search() as inner:
        pass

    first, second = spans.finished
    assert said_by(first)["ragledger.search.id"] == str(inner.receipt.search_id)
    assert said_by(first)["ragledger.search.parent_id"] == str(outer.receipt.search_id)
    assert "ragledger.search.parent_id" not in said_by(second)
    assert first.parent is not None
    assert first.parent.span_id == second.context.span_id


def test_p5_a_refused_row_is_visible_in_the_trace(
    make_ledger: Callable[..., Ledger], spans: Spans, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    ledger = make_ledger(tracer_provider=spans.provider, journal_dir=tmp_path / "file")
    with ledger.search() as search:
        pass

    assert search.receipt.search_id is None
    assert said_by(spans.finished[0])["ragledger.row.status"] == "refused"


def test_top_k_that_is_declared_inside_is_said(ledger: Ledger, spans: Spans) -> None:
    with ledger.search() as search:
        search.declare(top_k=7)

    assert said_by(spans.finished[0])["gen_ai.retrieval.top_k"] == 7


def test_a_skip_has_a_row_and_no_span(ledger: Ledger, spans: Spans, database: Database) -> None:
    ledger.skip(reason="no_goal")

    assert ledger.flush()
    assert database.rows("SELECT status, trace_id, span_id, sampled, span_owner FROM searches") == [
        ("skipped", None, None, None, None)
    ]
    assert spans.finished == []


def test_what_is_as_usual_is_not_said(make_ledger: Callable[..., Ledger], spans: Spans) -> None:
    """Every attribute takes its bytes and its time: that a row was kept, or a search not degraded, need not be said."""
    with make_ledger(tracer_provider=spans.provider, max_candidates=2).search() as search:
        search.candidates(*FULL)
        search.candidates(Candidate("c4", admitted=False))

    said = said_by(spans.finished[0])
    assert (said["ragledger.candidate.count"], said["ragledger.hit.count"]) == (4, 2)
    assert not {"ragledger.degraded", "ragledger.row.status"} & set(said)


def test_p9_no_span_carries_an_attribute_that_is_not_listed(
    ledger: Ledger, make_ledger: Callable[..., Ledger], spans: Spans, tmp_path: Path
) -> None:
    """And each that is listed is carried by one of these: the list is what there is."""
    (tmp_path / "file").touch()
    with make_ledger(tracer_provider=spans.provider, name="refused", journal_dir=tmp_path / "file").search():
        pass
    with ledger.search(corpus="c", surface="s", top_k=3, weights=WEIGHTS, session_id="x", actor="human:ana"):
        with ledger.search() as inner:
            inner.candidates(*FULL, *[Candidate(f"more-{n}", admitted=False) for n in range(60)])
            inner.degrade("no_index")
        with pytest.raises(ValueError, match="no"), ledger.search():
            raise ValueError("no")

    carried = {name for span in spans.finished for name in said_by(span)}
    assert carried == ATTRIBUTES


def test_the_row_names_the_span_that_was_exported(ledger: Ledger, spans: Spans, database: Database) -> None:
    with ledger.search():
        pass

    (span,) = spans.finished
    assert ledger.flush()
    ids = (span.context.trace_id.to_bytes(16, "big"), span.context.span_id.to_bytes(8, "big"))
    assert database.rows("SELECT trace_id, span_id, sampled, span_owner FROM searches") == [
        (*ids, True, "ours")
    ]


def test_p1_the_span_lasts_as_long_as_the_row_says(ledger: Ledger, spans: Spans, database: Database) -> None:
    with ledger.search():
        pass

    (span,) = spans.finished
    assert ledger.flush()
    assert span.start_time is not None
    assert span.end_time is not None
    row = "SELECT latency_ms, (extract(epoch FROM started_at) * 1000000)::int8 FROM searches"
    assert database.rows(row) == [((span.end_time - span.start_time) / 1e6, span.start_time // 1000)]


def said_by(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def epoch_of(ledger: Ledger, search_id: Any) -> str:
    import psycopg

    assert ledger.flush()
    with psycopg.connect(ledger.settings.dsn) as connection:
        query = "SELECT epoch FROM ragledger.searches WHERE search_id = %s"
        row = connection.execute(query, [search_id]).fetchone()
    assert row is not None
    return str(row[0])
