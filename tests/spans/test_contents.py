"""Ids of documents behind a switch, text behind two, and how much of either a span can carry."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from fix_spans import Spans
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from ragledger import Candidate, ConfigError, Ledger
from ragledger.settings import Settings
from ragledger.spans import ATTRIBUTES, DOCUMENT_ATTRIBUTES, TEXT_ATTRIBUTES

pytestmark = pytest.mark.pg

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
QUERY, CHUNKS = "what is a ZEBRAQUERY", ["ZEBRACHUNK a", "ZEBRACHUNK b"]
QUERY_NAMES = {"gen_ai.retrieval.query.text", "input.value", "input.mime_type"}


def search(ledger: Ledger, hits: int = 2) -> Any:
    with ledger.search(corpus="handbook", surface="study", top_k=hits) as search:
        search.candidates(*[Candidate(f"c{n}", score=1 / (n + 1)) for n in range(hits)])
        search.candidates(Candidate("below", score=0.01, admitted=False))
        search.tell(query=QUERY, chunks=CHUNKS)
    return search.receipt


def said_by(spans: Spans) -> dict[str, Any]:
    (span,) = spans.finished
    return dict(span.attributes)


# --- ids ---------------------------------------------------------------------------------------------------


def test_p9_by_default_there_are_no_ids_and_no_text(make_ledger: Callable[..., Ledger], spans: Spans) -> None:
    search(make_ledger(tracer_provider=spans.provider))
    assert set(said_by(spans)) <= ATTRIBUTES


def test_ids_and_scores_are_said_in_both_forms(make_ledger: Callable[..., Ledger], spans: Spans) -> None:
    search(make_ledger(tracer_provider=spans.provider, span_document_ids=True))
    said = said_by(spans)
    assert json.loads(said["gen_ai.retrieval.documents"]) == [
        {"id": "c0", "score": 1.0},
        {"id": "c1", "score": 0.5},
    ]
    assert {name: value for name, value in said.items() if name.startswith("retrieval.")} == {
        "retrieval.documents.0.document.id": "c0",
        "retrieval.documents.0.document.score": 1.0,
        "retrieval.documents.1.document.id": "c1",
        "retrieval.documents.1.document.score": 0.5,
    }
    assert not TEXT_ATTRIBUTES & set(said)


def test_p8_an_id_or_a_score_that_is_not_there_is_left_out(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    with make_ledger(tracer_provider=spans.provider, span_document_ids=True).search() as found:
        found.candidates(Candidate(None, score=0.5), Candidate("b"), Candidate("c", score=float("nan")))
    said = said_by(spans)
    assert json.loads(said["gen_ai.retrieval.documents"]) == [{"score": 0.5}, {"id": "b"}, {"id": "c"}]
    assert "retrieval.documents.0.document.id" not in said
    assert "retrieval.documents.2.document.score" not in said


def test_an_empty_search_says_that_it_has_no_documents(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    with make_ledger(tracer_provider=spans.provider, span_document_ids=True).search() as found:
        found.candidates()
    assert said_by(spans)["gen_ai.retrieval.documents"] == "[]"


def test_p8_of_a_search_that_failed_no_documents_are_said(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, span_document_ids=True)
    with pytest.raises(ValueError, match="no"), ledger.search():
        raise ValueError("no")
    assert set(said_by(spans)) <= ATTRIBUTES


def test_at_most_twenty_documents_are_said(make_ledger: Callable[..., Ledger], spans: Spans) -> None:
    search(make_ledger(tracer_provider=spans.provider, span_document_ids=True), hits=300)
    said = said_by(spans)
    assert len(json.loads(said["gen_ai.retrieval.documents"])) == 20
    assert set(said) >= DOCUMENT_ATTRIBUTES
    assert said["ragledger.admitted.count"] == 300


@pytest.mark.parametrize("limit", [128, 40, 24, 8])
def test_past_the_limit_of_the_sdk_what_types_the_span_and_leads_to_the_row_is_kept(
    make_ledger: Callable[..., Ledger], spans: Spans, limit: int
) -> None:
    """It drops the oldest: what was said at the start."""
    provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=limit), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans.exporter))
    ledger = make_ledger(tracer_provider=provider, span_document_ids=True)
    with ledger.search(corpus="handbook", surface="study", top_k=5) as found:
        for n in range(128):
            found.narration.span.set_attribute(f"of.the.application.{n}", n)  # type: ignore[union-attr]
        found.candidates(*[Candidate(f"c{n}", score=0.5) for n in range(50)])
        found.declare(top_k=7)
    said = said_by(spans)
    assert len(said) == limit
    assert said["gen_ai.retrieval.top_k"] == 7
    assert said["openinference.span.kind"] == "RETRIEVER"
    assert said["gen_ai.operation.name"] == "retrieval"
    assert said["ragledger.search.id"] == str(found.receipt.search_id)
    assert (said["gen_ai.data_source.id"], said["ragledger.surface"]) == ("handbook", "study")


# --- text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["SPAN_ONLY", "SPAN_AND_EVENT", "span_only"])
def test_text_is_said_when_both_switches_are_on(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv(CAPTURE, mode)
    search(make_ledger(tracer_provider=spans.provider, span_query_text=True, span_chunk_text=True))
    said = said_by(spans)
    assert {name: said[name] for name in TEXT_ATTRIBUTES & set(said)} == {
        "gen_ai.retrieval.query.text": QUERY,
        "input.value": QUERY,
        "input.mime_type": "text/plain",
        "retrieval.documents.0.document.content": CHUNKS[0],
        "retrieval.documents.1.document.content": CHUNKS[1],
    }


def test_an_unpaired_surrogate_is_escaped(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exporter encodes a batch as a whole: one text that has no UTF-8 would lose it."""
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    ledger = make_ledger(tracer_provider=spans.provider, span_query_text=True, span_chunk_text=True)
    with ledger.search() as found:
        found.tell(query="q\ud800", chunks=["c\udfff"])
        found.candidates(Candidate("a"))
    said = said_by(spans)
    assert said["gen_ai.retrieval.query.text"] == said["input.value"] == "q\\ud800"
    assert said["retrieval.documents.0.document.content"] == "c\\udfff"


@pytest.mark.parametrize("mode", [None, "", "NO_CONTENT", "EVENT_ONLY", "true", "1"])
def test_p9_with_our_switch_alone_there_is_no_text_and_one_warning(
    make_ledger: Callable[..., Ledger],
    spans: Spans,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    mode: str | None,
) -> None:
    if mode is not None:
        monkeypatch.setenv(CAPTURE, mode)
    ledger = make_ledger(tracer_provider=spans.provider, span_query_text=True, span_chunk_text=True)
    search(ledger)
    assert not TEXT_ATTRIBUTES & set(said_by(spans))
    search(ledger)
    warned = [record for record in caplog.records if CAPTURE in record.getMessage()]
    assert [record.levelno for record in warned] == [logging.WARNING]


def test_p9_with_their_switch_alone_there_is_no_text_and_no_warning(
    make_ledger: Callable[..., Ledger],
    spans: Spans,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    search(make_ledger(tracer_provider=spans.provider, span_document_ids=True))
    assert not TEXT_ATTRIBUTES & set(said_by(spans))
    assert caplog.records == []


@pytest.mark.parametrize(
    ("switch", "names"),
    [
        ("span_query_text", QUERY_NAMES),
        ("span_chunk_text", {f"retrieval.documents.{n}.document.content" for n in (0, 1)}),
    ],
)
def test_each_text_has_a_switch_of_its_own(
    make_ledger: Callable[..., Ledger],
    spans: Spans,
    monkeypatch: pytest.MonkeyPatch,
    switch: str,
    names: set[str],
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    search(make_ledger(tracer_provider=spans.provider, **{switch: True}))
    assert TEXT_ATTRIBUTES & set(said_by(spans)) == names


@pytest.mark.parametrize(
    ("veto", "left"),
    [
        ("OPENINFERENCE_HIDE_INPUTS", {"gen_ai.retrieval.query.text", "chunks"}),
        ("OPENINFERENCE_HIDE_INPUT_TEXT", {"gen_ai.retrieval.query.text", "chunks"}),
        ("OPENINFERENCE_HIDE_OUTPUTS", QUERY_NAMES),
        ("OPENINFERENCE_HIDE_OUTPUT_TEXT", QUERY_NAMES),
        ("OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS", QUERY_NAMES),
    ],
)
def test_what_openinference_is_told_to_hide_is_hidden_here(
    make_ledger: Callable[..., Ledger],
    spans: Spans,
    monkeypatch: pytest.MonkeyPatch,
    veto: str,
    left: set[str],
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    monkeypatch.setenv(veto, "True")
    search(make_ledger(tracer_provider=spans.provider, span_query_text=True, span_chunk_text=True))
    found = {"chunks" if "content" in name else name for name in TEXT_ATTRIBUTES & set(said_by(spans))}
    assert found == left


def test_the_environment_is_read_once(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, span_query_text=True)
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    search(ledger)
    assert not TEXT_ATTRIBUTES & set(said_by(spans))


def test_long_texts_are_cut(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    ledger = make_ledger(tracer_provider=spans.provider, span_query_text=True, span_chunk_text=True)
    with ledger.search() as found:
        found.candidates(*[Candidate(f"c{n}") for n in range(30)])
        found.tell(query="q" * 100_000, chunks=["c" * 100_000] * 30)
    said = said_by(spans)
    assert {len(said[name]) for name in TEXT_ATTRIBUTES - {"input.mime_type"}} == {2000}


def test_a_text_belongs_to_its_hit_when_some_were_folded(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    ledger = make_ledger(tracer_provider=spans.provider, span_chunk_text=True, span_document_ids=True)
    observation = ledger.recorder.open(_opening())
    observation.tell(chunks=["text a", "text a", None, "text d"])
    observation.finish([Candidate("a"), Candidate("a"), Candidate("c"), Candidate("d")])
    said = said_by(spans)
    told = [
        (said[f"retrieval.documents.{n}.document.id"], said.get(f"retrieval.documents.{n}.document.content"))
        for n in range(3)
    ]
    assert told == [("a", "text a"), ("c", None), ("d", "text d")]


def test_p9_nothing_is_held_for_a_span_that_is_not_sampled_nor_after_one_that_is(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    off = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    for provider in (off, spans.provider):
        ledger = make_ledger(tracer_provider=provider, span_query_text=True, name=str(id(provider)))
        with ledger.search() as found:
            narration: Any = found.narration
            found.tell(query=QUERY)
            assert (narration._heard is not None) == (provider is spans.provider)
        assert narration._heard is None


def _opening() -> Any:
    from ragledger.observation import Opening

    return Opening(framework="application")


# --- settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["span_document_ids", "span_query_text", "span_chunk_text", "span_feedback"])
def test_a_switch_is_off_until_the_environment_says_one(name: str) -> None:
    variable = f"RAGLEDGER_{name.upper()}"
    read = Settings.from_env
    assert getattr(read({}, dsn="d"), name) is False
    assert getattr(read({variable: "0"}, dsn="d"), name) is False
    assert getattr(read({variable: "1"}, dsn="d"), name) is True
    with pytest.raises(ConfigError, match=variable):
        read({variable: "yes"}, dsn="d")
