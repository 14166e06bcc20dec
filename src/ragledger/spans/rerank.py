"""The step of a reranker as a span of its own, below that of the search. OpenTelemetry has no name for it yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from ragledger import sanitise
from ragledger.faults import error_type, status_of
from ragledger.observation import open_observation
from ragledger.ports import TraceIds
from ragledger.scope import scope

from . import names as n
from .narrator import OtelNarrator, SpanInContext

if TYPE_CHECKING:
    from ragledger.ledger import Ledger
    from ragledger.observation import Observation

__all__ = ["narrate_rerank", "rerank_after"]


@contextmanager
def narrate_rerank(
    ledger: Ledger,
    *,
    model_name: str | None = None,
    top_k: int | None = None,
    candidate_count: int | None = None,
) -> Iterator[None]:
    """A span around the work of a reranker, sync or async: `with narrate_rerank(ledger, ...): reranker(...)`.

    It says how many items came in and how many may go out; no text, and no row: what a reranker delivered is told by
    `ledger.deliver`. What the block raises passes as it is, and nothing of ours is raised.

    Args:
        model_name: of the reranking model; None where it has none.
        candidate_count: items handed to it.
    """
    step: SpanInContext | None = None
    with ledger.guard("span"):
        around = open_observation()
        search = around.nearest(ledger) if around is not None else None
        step = _opened(ledger, search, (model_name, top_k, candidate_count))
        if step is not None:
            step.attach()
    try:
        yield
    except BaseException as exc:
        with ledger.guard("span"):
            if step is not None:
                _failed(step, exc)
        raise
    finally:
        with ledger.guard("span"):
            if step is not None:
                step.detach()
                step.span.end()


def rerank_after(
    search: Observation, *, model_name: str | None, top_k: int | None, candidate_count: int
) -> Callable[[BaseException | None], None] | None:
    """The same for a reranker that runs after its search has ended: a child of the search's span, never current.

    What comes back ends it, with what the reranker raised or None. None where nobody listens.
    """
    with search.ledger.guard("span"):
        step = _opened(search.ledger, search, (model_name, top_k, candidate_count), after=True)
        if step is None:
            return None

        def end(exc: BaseException | None) -> None:
            with search.ledger.guard("span"):
                if exc is not None:
                    _failed(step, exc)
                step.span.end()

        return end
    return None


def _opened(
    ledger: Ledger,
    search: Observation | None,
    facts: tuple[str | None, int | None, int | None],
    *,
    after: bool = False,
) -> SpanInContext | None:
    narrator = ledger.recorder.narrator
    if not isinstance(narrator, OtelNarrator) or scope().suppressed:
        return None
    if not narrator.is_listening(otel_context.get_current()):
        return None
    flags: set[str] = set()
    model_name, top_k, candidate_count = facts
    said = {
        n.OPENINFERENCE_KIND: "RERANKER",
        n.RERANK_MODEL: sanitise.text(model_name, flags) if model_name is not None else None,
        n.RERANK_TOP_K: sanitise.count(top_k, flags),
        n.RERANK_CANDIDATES: sanitise.count(candidate_count, flags),
        n.SEARCH_ID: str(search.search_id) if search is not None else None,
    }
    attributes = {name: value for name, value in said.items() if value is not None}
    parent = _context_of(search.trace) if after and search is not None else None
    return SpanInContext(
        narrator.tracer.start_span(n.RERANK_SPAN_NAME, parent, SpanKind.INTERNAL, attributes)
    )


def _context_of(trace: TraceIds) -> Context | None:
    """A context below a span that has ended."""
    if trace.trace_id is None or trace.span_id is None:
        return None
    ended = SpanContext(
        int.from_bytes(trace.trace_id, "big"),
        int.from_bytes(trace.span_id, "big"),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if trace.sampled else TraceFlags.DEFAULT),
    )
    return set_span_in_context(NonRecordingSpan(ended))


def _failed(step: SpanInContext, exc: BaseException) -> None:
    if step.span.is_recording():
        step.span.set_attribute(n.ERROR_TYPE, error_type(exc))
        if status_of(exc) == "error":
            step.span.set_status(Status(StatusCode.ERROR))
