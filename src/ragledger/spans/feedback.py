"""A vote as a span of its own: the span of its search has ended, so a carrier with exactly one link tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags

from . import names as n

if TYPE_CHECKING:
    from ragledger.annotations import Annotation

    from .narrator import OtelNarrator

__all__ = ["FeedbackSpans"]


class FeedbackSpans:
    """An `annotations.Teller`: the span belongs to whatever is current where the vote is given."""

    def __init__(self, narrator: OtelNarrator) -> None:
        self._narrator = narrator

    def __call__(self, annotation: Annotation) -> None:
        """Makes the span, at once complete."""
        narrator, trace = self._narrator, annotation.trace
        if trace.trace_id is None or trace.span_id is None:
            return
        if not narrator.is_listening(otel_context.get_current()):
            return
        target = SpanContext(
            int.from_bytes(trace.trace_id, "big"),
            int.from_bytes(trace.span_id, "big"),
            is_remote=True,
            trace_flags=TraceFlags(TraceFlags.SAMPLED if trace.sampled else TraceFlags.DEFAULT),
        )
        attributes: dict[str, str | int | float] = {
            n.SEARCH_ID: str(annotation.search_id),
            n.HIT_RANK: annotation.rank,
            n.ANNOTATION_NAME: "relevance",
            n.ANNOTATION_LABEL: annotation.label,
            n.ANNOTATION_SCORE: annotation.score,
            n.ANNOTATOR_KIND: "HUMAN" if annotation.by_human else "CODE",
            n.ANNOTATION_ID: str(annotation.vote_id),
        }
        narrator.tracer.start_span(
            n.FEEDBACK_SPAN_NAME, kind=SpanKind.INTERNAL, attributes=attributes, links=[Link(target)]
        ).end()
