"""The span is current during the search and only then, whatever ends it and wherever."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from fix_spans import Spans
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from ragledger import Ledger
from ragledger.observation import Opening

pytestmark = pytest.mark.pg


@pytest.fixture
def ledger(make_ledger: Callable[..., Ledger], spans: Spans) -> Ledger:
    return make_ledger(tracer_provider=spans.provider)


@pytest.fixture(autouse=True)
def _no_complaint_about_contexts(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """OpenTelemetry logs "Failed to detach context" with a traceback; nothing here may cause that."""
    yield
    said = [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.WARNING]
    assert said == []


def here() -> int:
    return trace.get_current_span().get_span_context().span_id


def test_it_is_current_inside_and_not_outside(ledger: Ledger, spans: Spans) -> None:
    before = here()
    with ledger.search():
        inside = here()

    assert here() == before == 0
    assert inside == id_of(spans.finished[0])


def test_it_stands_between_the_hosts_span_and_the_databases(ledger: Ledger, spans: Spans) -> None:
    other = spans.provider.get_tracer("other")
    with other.start_as_current_span("request"):
        with ledger.search(), other.start_as_current_span("SELECT"):
            pass
        with other.start_as_current_span("after"):
            pass

    by_name = {span.name: span for span in spans.finished}
    assert parent_of(by_name["SELECT"]) == id_of(by_name["retrieval"])
    assert parent_of(by_name["retrieval"]) == parent_of(by_name["after"]) == id_of(by_name["request"])


def test_an_exception_restores_what_was_current(ledger: Ledger, spans: Spans) -> None:
    with spans.provider.get_tracer("other").start_as_current_span("request"):
        before = here()
        with pytest.raises(KeyError), ledger.search():
            raise KeyError
        assert here() == before


async def test_it_is_current_in_the_tasks_and_threads_of_the_search(ledger: Ledger, spans: Spans) -> None:
    async def member() -> int:
        await asyncio.sleep(0)
        return here()

    with ledger.search():
        seen = await asyncio.gather(member(), member(), asyncio.to_thread(here))

    assert set(seen) == {id_of(spans.finished[0])}
    assert here() == 0


async def test_searches_at_the_same_time_do_not_see_each_other(ledger: Ledger, spans: Spans) -> None:
    async def search() -> tuple[int, int, int]:
        with ledger.search():
            first = here()
            await asyncio.sleep(0.001)
            second = here()
        return first, second, here()

    seen = await asyncio.gather(*[search() for _ in range(20)])

    assert all(first == second != 0 == after for first, second, after in seen)
    assert {first for first, _, _ in seen} == {id_of(span) for span in spans.finished}
    assert len(spans.finished) == 20


async def test_a_cancelled_search_restores_what_was_current(ledger: Ledger, spans: Spans) -> None:
    after: list[int] = []
    started = asyncio.Event()

    async def work() -> None:
        try:
            with ledger.search():
                started.set()
                await asyncio.sleep(60)
        finally:
            after.append(here())

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    await asyncio.wait([task])

    assert after == [0]
    assert len(spans.finished) == 1


async def test_a_stream_that_another_context_closes_ends_its_span_in_silence(
    ledger: Ledger, spans: Spans
) -> None:
    async def stream() -> AsyncIterator[int]:
        with ledger.search():
            yield 1
            yield 2

    items = stream()
    # Each step in a context of its own, as an event loop's finalizer does it.
    await asyncio.create_task(_next(items))
    await asyncio.create_task(_close(items))

    assert len(spans.finished) == 1
    assert here() == 0


def test_a_generator_that_another_thread_closes_ends_its_span_in_silence(
    ledger: Ledger, spans: Spans
) -> None:
    def stream() -> Iterator[int]:
        with ledger.search():
            yield 1

    items = stream()
    contextvars.copy_context().run(next, items)
    thread = threading.Thread(target=items.close)  # type: ignore[attr-defined]
    thread.start()
    thread.join()

    assert len(spans.finished) == 1
    assert here() == 0


def test_a_search_that_ends_twice_has_one_span(ledger: Ledger, spans: Spans) -> None:
    observation = ledger.recorder.open(Opening(framework="application"))
    observation.finish()
    receipt = observation.receipt
    observation.fail(ValueError())

    assert observation.receipt == receipt
    assert len(spans.finished) == 1


def test_two_ledgers_narrate_each_to_its_own_backend(
    make_ledger: Callable[..., Ledger], spans: Spans, ledger: Ledger
) -> None:
    others = Spans()
    with (
        ledger.search() as ours,
        make_ledger(name="other", tracer_provider=others.provider).search() as theirs,
    ):
        pass

    assert [dict(s.attributes)["ragledger.search.id"] for s in spans.finished] == [
        str(ours.receipt.search_id)
    ]
    assert [dict(s.attributes)["ragledger.search.id"] for s in others.finished] == [
        str(theirs.receipt.search_id)
    ]
    assert "ragledger.search.parent_id" not in dict(others.finished[0].attributes)


async def _next(items: AsyncIterator[int]) -> int:
    return await items.__anext__()


async def _close(items: AsyncIterator[int]) -> None:
    await items.aclose()  # type: ignore[attr-defined]


def id_of(span: ReadableSpan) -> int:
    return int(span.context.span_id)


def parent_of(span: ReadableSpan) -> int:
    assert span.parent is not None
    return int(span.parent.span_id)
