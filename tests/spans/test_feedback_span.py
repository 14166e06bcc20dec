"""A vote as a span: off unless configured, linked to the search's span, no text (reference 6e)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fix_pg import Database
from fix_spans import Spans
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from ragledger import Candidate, HitNotReturned, Ledger
from ragledger.ids import new_id
from ragledger.spans import FEEDBACK_ATTRIBUTES

pytestmark = pytest.mark.pg

MakeLedger = Callable[..., Ledger]


def search(ledger: Ledger) -> Any:
    with ledger.search() as search:
        search.candidates(Candidate("a"), Candidate("b"))
    return search.receipt.search_id


def of_votes(spans: Spans) -> list[ReadableSpan]:
    return [span for span in spans.finished if span.name == "ragledger.feedback"]


@pytest.fixture
def ledger(make_ledger: MakeLedger, spans: Spans) -> Ledger:
    return make_ledger(tracer_provider=spans.provider, span_feedback=True)


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        ("not_relevant", 0.0),
        ("partially_relevant", 1 / 3),
        ("relevant", 2 / 3),
        ("highly_relevant", 1.0),
    ],
)
@pytest.mark.parametrize(("actor", "kind"), [("human:ana", "HUMAN"), ("agent:x", "CODE"), (None, "CODE")])
def test_it_says_exactly_this_and_is_linked_once(
    ledger: Ledger, spans: Spans, database: Database, outcome: str, score: float, actor: str | None, kind: str
) -> None:
    search_id = search(ledger)
    ledger.vote(search_id, "b", outcome, actor=actor)
    assert ledger.flush()
    (retrieval,) = [span for span in spans.finished if span.name == "retrieval"]
    (span,) = of_votes(spans)
    assert dict(span.attributes) == {
        "ragledger.search.id": str(search_id),
        "ragledger.hit.rank": 2,
        "annotations.0.annotation.name": "relevance",
        "annotations.0.annotation.label": outcome,
        "annotations.0.annotation.score": score,
        "annotations.0.annotation.annotator_kind": kind,
        "annotations.0.annotation.identifier": str(database.value("SELECT feedback_id FROM feedback")),
    }
    assert set(span.attributes) == FEEDBACK_ATTRIBUTES
    (link,) = span.links
    assert (link.context.trace_id, link.context.span_id) == (
        retrieval.context.trace_id,
        retrieval.context.span_id,
    )
    assert link.context.trace_flags.sampled
    assert (span.kind, span.status.status_code, span.events) == (SpanKind.INTERNAL, StatusCode.UNSET, ())


def test_by_default_there_is_none(make_ledger: MakeLedger, spans: Spans) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    ledger.vote(search(ledger), "a", "relevant")
    assert of_votes(spans) == []


def test_it_belongs_to_the_request_that_brings_the_vote(ledger: Ledger, spans: Spans) -> None:
    search_id = search(ledger)
    with spans.provider.get_tracer("app").start_as_current_span("POST /votes") as request:
        ledger.vote(search_id, "a", "relevant")
    (span,) = of_votes(spans)
    assert span.parent.span_id == request.get_span_context().span_id


def test_the_search_of_another_process_is_found_in_the_table(
    ledger: Ledger, make_ledger: MakeLedger, spans: Spans
) -> None:
    search_id = search(ledger)
    assert ledger.flush()
    others = Spans()
    voting = make_ledger(tracer_provider=others.provider, span_feedback=True, name="voting")
    assert voting.vote(search_id, "a", "relevant").status == "journalled"
    (span,) = of_votes(others)
    assert span.links[0].context.span_id == spans.finished[0].context.span_id


def test_a_user_that_may_only_record_may_look_for_the_span(
    ledger: Ledger, make_ledger: MakeLedger, make_login: Callable[..., str], database: Database
) -> None:
    search_id = search(ledger)
    assert ledger.flush()
    others = Spans()
    login = make_login(member_of=("ragledger_writer",))
    dsn = f"{database.dsn} user={login}"
    voting = make_ledger(dsn=dsn, tracer_provider=others.provider, span_feedback=True, name="voting")
    voting.vote(search_id, "a", "relevant")
    assert len(of_votes(others)) == 1


def test_rights_from_before_cost_the_span_and_not_the_vote(
    ledger: Ledger, make_ledger: MakeLedger, make_login: Callable[..., str], database: Database
) -> None:
    """`init --roles` of an older release: the column may not be read."""
    search_id = search(ledger)
    assert ledger.flush()
    login = make_login(member_of=("ragledger_writer",))
    with database.connect() as connection:
        connection.execute(
            "REVOKE SELECT (trace_id, span_id, sampled, span_owner) ON searches FROM ragledger_writer"
        )
    others = Spans()
    dsn = f"{database.dsn} user={login}"
    voting = make_ledger(dsn=dsn, tracer_provider=others.provider, span_feedback=True, name="voting")
    for chunk_id in ("a", "b"):
        assert voting.vote(search_id, chunk_id, "relevant").status == "journalled"
    assert of_votes(others) == []
    assert voting.guard.faults == {}


def test_what_is_no_judgement_or_not_kept_or_not_checked_makes_none(ledger: Ledger, spans: Spans) -> None:
    search_id = search(ledger)
    ledger.accessed(search_id, "a")
    with pytest.raises(HitNotReturned):
        ledger.vote(search_id, "z", "relevant")
    assert ledger.vote(new_id(), "a", "relevant").status == "pending"
    with suppress_instrumentation():
        ledger.vote(search_id, "a", "relevant")
    assert of_votes(spans) == []


def test_a_search_without_a_span_makes_none(make_ledger: MakeLedger, spans: Spans) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, span_feedback=True)
    with suppress_instrumentation():
        search_id = search(ledger)
    ledger.vote(search_id, "a", "relevant")
    assert of_votes(spans) == []


def test_a_vote_for_a_search_whose_span_was_not_sampled_has_nothing_to_link_to(
    make_ledger: MakeLedger, spans: Spans
) -> None:
    quiet = make_ledger(tracer_provider=TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False))
    search_id = search(quiet)
    assert quiet.flush()
    make_ledger(tracer_provider=spans.provider, span_feedback=True, name="voting").vote(
        search_id, "a", "relevant"
    )
    assert of_votes(spans) == []


def test_the_spans_of_many_searches_are_kept_within_bounds(ledger: Ledger, spans: Spans) -> None:
    from ragledger.annotations import Annotations

    (listening,) = [listener for listener in ledger.recorder._listeners if isinstance(listener, Annotations)]
    for _ in range(3000):
        search(ledger)
    assert len(listening._traces) <= 2048
    ledger.vote(search(ledger), "a", "relevant")
    assert len(of_votes(spans)) == 1
