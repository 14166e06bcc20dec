"""The span of a search: started before it, current during it, told afterwards how it went."""

from __future__ import annotations

import contextvars
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TraceFlags, Tracer, TracerProvider

from ragledger.forks import unforked
from ragledger.model import SearchRecord
from ragledger.ports import Narration, SpanFacts, TraceIds

from . import names as n
from .suppression import is_suppressed

if TYPE_CHECKING:
    from .beside import Beside
    from .contents import Contents, Heard

__all__ = [
    "OtelNarrator",
    "SpanInContext",
    "closing_attributes",
    "narrator_for",
    "scope_version",
    "trace_ids",
]

_logger = logging.getLogger(__name__)

_WEIGHTS = {"vector": n.WEIGHT_VECTOR, "lexical": n.WEIGHT_LEXICAL, "threshold": n.WEIGHT_THRESHOLD}
_KEPT = frozenset({"journalled", "written"})
# Loaded by whoever instruments with them. While they are not, no span of theirs can be here.
_UTIL_GENAI = "opentelemetry.util.genai.invocation"
_OPENINFERENCE = "openinference.instrumentation"
_modules = sys.modules


class OtelNarrator:
    """Starts a span per search; a provider set later is picked up, and without one it costs almost nothing."""

    def __init__(self, provider: TracerProvider | None = None, contents: Contents | None = None) -> None:
        with unforked:  # here: it needs this module; and not in a search, which would wait for other imports
            from .beside import meet

        self._meet = meet
        # Where the environment names a provider, asking for it is what sets it up.
        self._may_be_unset = (
            provider is None
            and OTEL_PYTHON_TRACER_PROVIDER not in os.environ
            and hasattr(trace, "_TRACER_PROVIDER")
        )
        self.tracer: Tracer = trace.get_tracer(n.SCOPE_NAME, scope_version(), tracer_provider=provider)
        self.wants_text = contents is not None and contents.text
        self._contents = contents

    def is_listening(self, current: Context) -> bool:
        """Whether a span is wanted here: somebody traces, and nobody suppresses it (the row has its own switch)."""
        return not (self._may_be_unset and _nobody_traces(current)) and not is_suppressed(current)

    def open(self, facts: Callable[[], SpanFacts]) -> Narration | None:
        """The span, not yet current. None under suppression, and with nobody to tell."""
        current = otel_context.get_current()
        # As `is_listening`, in place: most searches end here.
        if (self._may_be_unset and _nobody_traces(current)) or is_suppressed(current):
            return None
        known = facts()
        attributes: dict[str, str | int] = {
            n.OPERATION: "retrieval",
            n.OPENINFERENCE_KIND: "RETRIEVER",
            n.SEARCH_ID: msgspec.to_builtins(known.search_id),  # `str` of a UUID costs four times as much
            n.FRAMEWORK: known.framework,
        }
        if known.corpus is not None:
            attributes[n.DATA_SOURCE] = known.corpus
        if known.surface is not None:
            attributes[n.SURFACE] = known.surface
        if known.top_k is not None:
            attributes[n.TOP_K] = known.top_k
        beside = None
        if _UTIL_GENAI in _modules or _OPENINFERENCE in _modules:
            beside = self._meet(current, attributes)
            if beside.narration is not None:
                return beside.narration
        span = self.tracer.start_span(
            n.SPAN_NAME,
            current if beside is None or beside.parent is None else beside.parent,
            SpanKind.INTERNAL,
            attributes,
            start_time=known.start_ns,
        )
        return _SpanNarration(span, attributes, self._contents, beside)


def narrator_for(provider: TracerProvider | None, contents: Contents | None = None) -> OtelNarrator:
    """A narrator that tells this provider, the global one, or nobody where the environment names one that fails."""
    try:
        return OtelNarrator(provider, contents)
    except Exception as exc:  # noqa: BLE001  a provider that the environment names may raise anything
        _logger.error(  # noqa: TRY400  the type is enough, and a message is not ours to repeat
            "ragledger: the tracer provider cannot be loaded (%s); searches get rows and no spans",
            type(exc).__name__,
        )
        return OtelNarrator(trace.NoOpTracerProvider())


def scope_version() -> str | None:
    """Of the instrumentation scope, which is this distribution."""
    with unforked:  # here: it brings in zipfile and email, a tenth of what `import ragledger` may take
        from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ragledger")
    except PackageNotFoundError:  # the source tree on a path, not installed
        return None


def _nobody_traces(current: Context) -> bool:
    """No provider here, and no trace that came with the request: its ids would still belong in the row."""
    # Not by `trace.get_tracer_provider()` at once: while none is set it looks into the environment every time, which
    # costs more than all the rest of this.
    if trace._TRACER_PROVIDER is not None:  # noqa: SLF001  looked for when the narrator was made
        return False
    return not current or trace.get_current_span(current) is trace.INVALID_SPAN


def trace_ids(span: Span, owner: str | None) -> TraceIds:
    """The ids of a span for the row; none of one that is not valid."""
    found = span.get_span_context()
    if not found.is_valid:
        return TraceIds()
    sampled = bool(found.trace_flags & TraceFlags.SAMPLED)
    return TraceIds(found.trace_id.to_bytes(16, "big"), found.span_id.to_bytes(8, "big"), sampled, owner)


class SpanInContext:
    """A span that can be made current, in the context of that moment: its processors may have attached to it."""

    __slots__ = ("_beside", "_token", "span")

    def __init__(self, span: Span, beside: Beside | None = None) -> None:
        self.span = span
        self._beside = beside
        self._token: object | None = None

    def attach(self) -> None:
        """Makes it current."""
        context = trace.set_span_in_context(self.span)
        self._token = otel_context.attach(context if self._beside is None else self._beside.within(context))

    def detach(self) -> None:
        """Undoes it, also from another context, and twice."""
        token, self._token = self._token, None
        if isinstance(token, contextvars.Token):
            # otel_context.detach would log an error with a traceback when a cancelled coroutine is closed from
            # another context; there is nothing to undo there.
            try:
                token.var.reset(token)
            except ValueError:
                return


class _SpanNarration(SpanInContext):
    __slots__ = ("_contents", "_heard", "_opening", "_records", "trace")

    def __init__(
        self,
        span: Span,
        opening: Mapping[str, Any],
        contents: Contents | None,
        beside: Beside | None,
    ) -> None:
        self.span = span  # as the base does: a call less for every search
        self._beside = beside
        self._token = None
        self._opening = opening
        self._contents = contents
        self._heard: Heard | None = None
        self._records = span.is_recording()
        self.trace = trace_ids(span, "ours" if self._records else None)

    def hear(self, query: str | None, chunks: Sequence[str | None]) -> None:
        if self._contents is not None and self._contents.text and self._records:
            self._heard = query, chunks

    def close(self, record: SearchRecord | None, row_status: str, end_ns: int) -> None:
        span = self.span
        try:
            if record is not None and span.is_recording():  # somebody may have ended it
                closing = closing_attributes(record, row_status)
                span.set_attributes(closing)
                if self._contents is not None:
                    span.set_attributes(self._contents.attributes(record, self._heard))
                if getattr(span, "dropped_attributes", 0):
                    # The SDK drops the oldest past its limit: what types the span and leads to the row goes in last.
                    opening = self._opening
                    span.set_attributes({name: closing.get(name, opening[name]) for name in opening})
                if record.status == "error":
                    span.set_status(Status(StatusCode.ERROR))
        finally:
            self._heard = None
            span.end(end_time=end_ns)


def closing_attributes(record: SearchRecord, row_status: str) -> dict[str, Any]:
    """How it went. What is as usual is not said: not degraded, the row kept, every candidate a hit."""
    attributes: dict[str, Any] = {n.EPOCH: record.epoch}
    hits = len(record.hits)
    if hits != (record.candidate_count or 0):
        attributes[n.HITS] = hits
    if row_status not in _KEPT:
        attributes[n.ROW_STATUS] = row_status
    if record.degraded:
        attributes[n.DEGRADED] = True
        if record.degraded_reason is not None:
            attributes[n.DEGRADED_REASON] = record.degraded_reason
    if record.candidate_count is not None:
        attributes[n.CANDIDATES] = record.candidate_count
    if record.admitted_count is not None:
        attributes[n.ADMITTED] = record.admitted_count
    if record.parent_id is not None:
        attributes[n.PARENT_ID] = str(record.parent_id)
    if record.error_type is not None:
        attributes[n.ERROR_TYPE] = record.error_type
    if record.top_k is not None:
        attributes[n.TOP_K] = record.top_k
    attributes.update(_weight_attributes(record.weights))
    return attributes


@lru_cache(maxsize=256)
def _weight_attributes(weights: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    effective = msgspec.json.decode(weights)["effective"]
    for name, attribute in _WEIGHTS.items():
        value = effective.get(name)
        if isinstance(value, (int, float)):
            with suppress(OverflowError):  # a whole number that no float holds
                found[attribute] = float(value)
    return found
