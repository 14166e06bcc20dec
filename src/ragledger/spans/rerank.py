"""The step of a reranker as a span of its own, below that of the search. OpenTelemetry has no name for it yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry.trace import SpanKind, Status, StatusCode

from ragledger import sanitise
from ragledger.faults import error_type, status_of
from ragledger.observation import open_observation
from ragledger.scope import scope

from . import names as n
from .narrator import OtelNarrator, SpanInContext

if TYPE_CHECKING:
    from ragledger.ledger import Ledger

__all__ = ["narrate_rerank"]


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
        step = _opened(ledger, model_name, top_k, candidate_count)
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


def _opened(
    ledger: Ledger, model_name: str | None, top_k: int | None, candidate_count: int | None
) -> SpanInContext | None:
    narrator = ledger.recorder.narrator
    if not isinstance(narrator, OtelNarrator) or scope().suppressed:
        return None
    if not narrator.is_listening(otel_context.get_current()):
        return None
    flags: set[str] = set()
    around = open_observation()
    search = around.nearest(ledger) if around is not None else None
    said = {
        n.OPENINFERENCE_KIND: "RERANKER",
        n.RERANK_MODEL: sanitise.text(model_name, flags) if model_name is not None else None,
        n.RERANK_TOP_K: sanitise.count(top_k, flags),
        n.RERANK_CANDIDATES: sanitise.count(candidate_count, flags),
        n.SEARCH_ID: str(search.search_id) if search is not None else None,
    }
    attributes = {name: value for name, value in said.items() if value is not None}
    return SpanInContext(
        narrator.tracer.start_span(n.RERANK_SPAN_NAME, kind=SpanKind.INTERNAL, attributes=attributes)
    )


def _failed(step: SpanInContext, exc: BaseException) -> None:
    if step.span.is_recording():
        step.span.set_attribute(n.ERROR_TYPE, error_type(exc))
        if status_of(exc) == "error":
            step.span.set_status(Status(StatusCode.ERROR))
