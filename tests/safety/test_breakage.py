"""P3: what raises beside a search, or out of it, is counted or is the caller's own; the next search is as ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from safety.ways import ASYNC, SYNC, async_search, sync_search

import ragledger
from ragledger.model import Record
from ragledger.testing import MemoryBackend, MemoryLedger, memory_ledger
from ragledger_llama_index.hooks import hooks

SECRET = "SECRET-7f3a"
CALLERS = [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]
FAULTS = [MemoryError, RecursionError, RuntimeError]


class Processor(SpanProcessor):
    """Raises at one of its two steps."""

    def __init__(self, step: str) -> None:
        self.step = step

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.step == "on_start":
            raise RuntimeError(SECRET)

    def on_end(self, span: Any) -> None:
        if self.step == "on_end":
            raise RuntimeError(SECRET)


class Exporter(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:
        raise RuntimeError(SECRET)


class BrokenSampler(Sampler):
    def should_sample(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(SECRET)

    def get_description(self) -> str:
        return "broken"


class BrokenIds(RandomIdGenerator):
    def generate_span_id(self) -> int:
        raise RuntimeError(SECRET)


def provider(part: str) -> TracerProvider:
    found = TracerProvider(
        sampler=BrokenSampler() if part == "sampler" else ALWAYS_ON,
        id_generator=BrokenIds() if part == "ids" else RandomIdGenerator(),
        shutdown_on_exit=False,
    )
    if part in {"on_start", "on_end"}:
        found.add_span_processor(Processor(part))
    elif part == "exporter":
        found.add_span_processor(SimpleSpanProcessor(Exporter()))
    return found


# What an exporter raises is caught and logged by the SDK itself.
TRACING = {"on_start": 1, "on_end": 1, "sampler": 1, "ids": 1, "exporter": 0}


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    assert not ragledger.current()
    assert not hooks().searches.open


def works(ledger: MemoryLedger, way: str) -> None:
    """A search of today is whole and at depth 0."""
    ledger.backend.records.clear()
    assert len(sync_search(way, ledger)()) == 2
    row = ledger.row
    assert (row.status, row.depth, row.parent_id, len(row.hits)) == ("ok", 0, None, 2)


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize("part", TRACING)
def test_p3_a_tracing_sdk_that_raises_costs_the_span(way: str, part: str, caplog: pytest.LogCaptureFixture):
    with memory_ledger(tracer_provider=provider(part), strict=False) as ledger:
        works(ledger, way)
        assert ledger.guard.faults == ({"span": TRACING[part]} if TRACING[part] else {})
    ours = [record for record in caplog.records if record.name.startswith("ragledger")]
    assert SECRET not in "".join(record.getMessage() + str(record.exc_info) for record in ours)


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("part", ["on_start", "on_end"])
async def test_p3_the_same_on_the_loop(way: str, part: str):
    with memory_ledger(tracer_provider=provider(part), strict=False) as ledger:
        assert len(await async_search(way, ledger)()) == 2
        assert (ledger.row.status, len(ledger.hits)) == ("ok", 2)
        assert ledger.guard.faults == {"span": 1}


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize("kind", [*CALLERS, *FAULTS])
def test_p3_what_the_search_itself_raises_is_the_callers(way: str, kind: type[BaseException]):
    fault = kind(SECRET)

    def body() -> None:
        raise fault

    with memory_ledger() as ledger:
        with pytest.raises(kind) as caught:
            sync_search(way, ledger, body)()
        assert caught.value is fault
        row = ledger.row
        assert (row.status, row.hits) == ("cancelled" if kind in CALLERS else "error", ())
        assert SECRET not in repr(row)
        works(ledger, way)
        assert ledger.guard.faults == {}


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, *FAULTS])
async def test_p3_also_in_a_task(way: str, kind: type[BaseException]):
    fault = kind(SECRET)

    def body() -> None:
        raise fault

    with memory_ledger() as ledger:
        caught: BaseException | None = None
        try:
            await async_search(way, ledger, body)()
        except BaseException as exc:
            caught = exc
        assert caught is fault
        assert ledger.row.status == ("cancelled" if kind in CALLERS else "error")
        works(ledger, way)


class Interrupted(MemoryBackend):
    """Raises while it keeps a record: the moment at which a signal would cost most."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: BaseException | None = None

    def put(self, record: Record) -> str | None:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        return super().put(record)


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize("kind", [*CALLERS, *FAULTS])
def test_p3_raised_while_the_row_is_kept_it_leaves_nothing_behind(way: str, kind: type[BaseException]):
    backend = Interrupted()
    with memory_ledger(backend=backend, strict=False) as ledger:
        search = sync_search(way, ledger)
        backend.fault = fault = kind()
        caught: BaseException | None = None
        try:
            assert len(search()) == 2
        except BaseException as exc:
            caught = exc
        # A signal's exception is the caller's to see; LlamaIndex's dispatcher swallows it. Ours is nobody's.
        assert caught is None or (caught is fault and kind in CALLERS)
        assert not ragledger.current()
        assert ledger.guard.faults == ({"journal": 1} if kind in FAULTS else {})
        works(ledger, way)


@pytest.mark.parametrize("way", SYNC)
def test_p3_a_log_handler_that_raises_is_not_the_searchs(way: str):
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError(SECRET)

    logger, handler = logging.getLogger("ragledger"), Broken()
    logger.addHandler(handler)
    backend = Interrupted()
    try:
        with memory_ledger(backend=backend, strict=False) as ledger:
            backend.fault = OSError(SECRET)
            assert len(sync_search(way, ledger)()) == 2
            assert ledger.guard.faults == {"journal": 1}
            works(ledger, way)
    finally:
        logger.removeHandler(handler)


class Unreadable:
    """A value of the application whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize("way", SYNC)
def test_p3_a_context_value_that_raises_costs_itself(way: str):
    odd: Any = Unreadable()
    with memory_ledger() as ledger, ragledger.context(surface=odd, session_id=odd, actor=odd, corpus=odd):
        assert len(sync_search(way, ledger)()) == 2
        row = ledger.row
        assert (row.surface, row.session_id, row.corpus, row.actor_kind) == (None, None, None, "system")
        assert row.flags == ("unreadable_text",)
        assert len(row.hits) == 2


@pytest.mark.parametrize("way", SYNC)
def test_p3_a_capture_that_cannot_take_a_receipt_costs_the_receipt(way: str):
    class Full(list):  # type: ignore[type-arg]
        def append(self, item: Any) -> None:
            raise MemoryError

    with memory_ledger(strict=False) as ledger, ragledger.capture():
        ragledger.scope.scope().capture.receipts = Full()  # type: ignore[union-attr]
        works(ledger, way)
        assert ledger.guard.faults == {"capture": 1}


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize("part", ["clock", "new_id"])
def test_p3_a_clock_or_an_id_maker_that_raises(way: str, part: str):
    def broken() -> Any:
        raise RuntimeError(SECRET)

    with memory_ledger(strict=False) as ledger:
        keep: Callable[[], Any] = ledger.recorder.new_id
        if part == "new_id":
            ledger.recorder.new_id = broken
        else:
            ledger.clock.ticks_ns = broken  # type: ignore[method-assign]
        assert len(sync_search(way, ledger)()) == 2
        assert set(ledger.guard.faults) == {"clock" if part == "clock" else "open"}
        assert [row.latency_ms for row in ledger.searches] == ([None] if part == "clock" else [])
        ledger.recorder.new_id = keep
        if part == "new_id":
            works(ledger, way)
