"""`ports.Narrator`: with an SDK, with one that samples nothing, without one, and the kit's that writes down."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from ragledger.ids import new_id
from ragledger.ports import Narrator, SpanFacts, TraceIds
from ragledger.spans import OtelNarrator
from ragledger.testing import CapturedSpans, MemoryNarrator, make_search

SPANS = CapturedSpans()


def off() -> TracerProvider:
    return TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)


MAKERS: dict[str, Any] = {
    "sdk": lambda: OtelNarrator(SPANS.provider),
    "sampled off": lambda: OtelNarrator(off()),
    "no-op provider": lambda: OtelNarrator(trace.NoOpTracerProvider()),
    "no provider": OtelNarrator,
    "memory": MemoryNarrator,
}


@pytest.fixture(params=MAKERS)
def narrator(request: pytest.FixtureRequest) -> Narrator:
    SPANS.clear()
    return MAKERS[request.param]()  # type: ignore[no-any-return]


def facts() -> SpanFacts:
    return SpanFacts(new_id(), "application", "c", None, None, 1_790_000_000_000_000_000)


def test_a_whole_life_leaves_the_context_as_it_was(narrator: Narrator):
    before = trace.get_current_span()
    narration = narrator.open(facts)
    if narration is not None:
        narration.attach()
        narration.detach()
        narration.close(make_search("a"), "journalled", 1_790_000_000_001_000_000)
    assert trace.get_current_span() is before


def test_the_ids_are_whole_or_not_there(narrator: Narrator):
    narration = narrator.open(facts)
    ids = narration.trace if narration is not None else TraceIds()
    assert isinstance(ids, TraceIds)
    there = (ids.trace_id is not None, ids.span_id is not None, ids.sampled is not None)
    assert set(there) in ({True}, {False})
    if ids.trace_id is not None and ids.span_id is not None:
        assert (len(ids.trace_id), len(ids.span_id)) == (16, 8)
    assert (ids.owner == "ours") == (ids.sampled is True)


def test_detached_twice_and_never_attached_is_nothing(narrator: Narrator):
    before = trace.get_current_span()
    narration = narrator.open(facts)
    if narration is not None:
        narration.detach()
        narration.attach()
        narration.detach()
        narration.detach()
    assert trace.get_current_span() is before


def test_detached_from_another_context_is_quiet(narrator: Narrator, caplog: pytest.LogCaptureFixture):
    narration = narrator.open(facts)
    if narration is not None:
        contextvars.copy_context().run(narration.attach)
        narration.detach()
    assert caplog.records == []


@pytest.mark.parametrize("status", ["ok", "error", "cancelled"])
def test_every_ending_can_be_told(narrator: Narrator, status: str):
    narration = narrator.open(facts)
    if narration is not None:
        narration.close(make_search(status=status), "refused", 1_790_000_000_001_000_000)


@pytest.mark.parametrize(("query", "chunks"), [(None, []), ("ZEBRA", ["ZEBRA", None])])
def test_p9_a_text_that_is_not_wanted_is_told_nowhere(narrator: Narrator, query: Any, chunks: Any):
    assert narrator.wants_text is False
    narration = narrator.open(facts)
    if narration is not None:
        narration.hear(query, chunks)
        narration.close(make_search("a"), "journalled", 1_790_000_000_001_000_000)
    assert not any("ZEBRA" in span.to_json() for span in SPANS.finished)


async def test_tasks_see_their_own(narrator: Narrator):
    async def one() -> bool:
        narration = narrator.open(facts)
        if narration is None:
            return True
        narration.attach()
        mine = trace.get_current_span()
        await asyncio.sleep(0)
        same = trace.get_current_span() is mine
        narration.detach()
        return same

    assert all(await asyncio.gather(*(one() for _ in range(20))))


def test_facts_are_not_asked_where_nobody_listens():
    """They cost more than the rest; a narrator without a provider must not want them."""

    def never() -> SpanFacts:
        raise AssertionError("asked")

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        assert OtelNarrator().open(never) is None
