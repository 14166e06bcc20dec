"""The span of a search, by the OpenTelemetry API alone. Narration: nothing is ever measured from it.

Attribute names are literals here and nowhere else: the GenAI conventions have left the published packages and are
still in development. No text: no query, no chunk, no exception message, no status description.
"""

from __future__ import annotations

import contextvars
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache

import msgspec
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

from .model import SearchRecord
from .ports import Narration, SpanFacts, TraceIds

__all__ = ["ATTRIBUTES", "SCOPE_NAME", "OtelNarrator", "narrator_for", "quietly", "scope_version"]

_logger = logging.getLogger(__name__)

SPAN_NAME = "retrieval"
SCOPE_NAME = "ragledger"

OPERATION = "gen_ai.operation.name"
DATA_SOURCE = "gen_ai.data_source.id"
TOP_K = "gen_ai.retrieval.top_k"
ERROR_TYPE = "error.type"
OPENINFERENCE_KIND = "openinference.span.kind"
SEARCH_ID = "ragledger.search.id"
PARENT_ID = "ragledger.search.parent_id"
SURFACE = "ragledger.surface"
FRAMEWORK = "ragledger.framework"
EPOCH = "ragledger.weights.epoch"
WEIGHT_VECTOR = "ragledger.weights.vector"
WEIGHT_LEXICAL = "ragledger.weights.lexical"
WEIGHT_THRESHOLD = "ragledger.weights.threshold"
CANDIDATES = "ragledger.candidate.count"
ADMITTED = "ragledger.admitted.count"
HITS = "ragledger.hit.count"
DEGRADED = "ragledger.degraded"
DEGRADED_REASON = "ragledger.degraded.reason"
ROW_STATUS = "ragledger.row.status"

ATTRIBUTES = frozenset(
    {
        OPERATION, DATA_SOURCE, TOP_K, ERROR_TYPE, OPENINFERENCE_KIND, SEARCH_ID, PARENT_ID, SURFACE, FRAMEWORK,
        EPOCH, WEIGHT_VECTOR, WEIGHT_LEXICAL, WEIGHT_THRESHOLD, CANDIDATES, ADMITTED, HITS, DEGRADED,
        DEGRADED_REASON, ROW_STATUS,
    }
)  # fmt: skip
"""Every attribute that a span of ours can carry; a test fails on any other."""

_SUPPRESSED: object = True
_WEIGHTS = {"vector": WEIGHT_VECTOR, "lexical": WEIGHT_LEXICAL, "threshold": WEIGHT_THRESHOLD}
# The key of the API, made anew per process, and the older plain one: instrumentations look at either.
_SUPPRESSION_KEYS = (
    getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation"),
    "suppress_instrumentation",
)


class OtelNarrator:
    """Starts a span per search; a provider set later is picked up, and without one it costs almost nothing."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        # Where the environment names a provider, asking for it is what sets it up.
        self._may_be_unset = (
            provider is None
            and OTEL_PYTHON_TRACER_PROVIDER not in os.environ
            and hasattr(trace, "_TRACER_PROVIDER")
        )
        self._tracer: Tracer = trace.get_tracer(SCOPE_NAME, scope_version(), tracer_provider=provider)

    def open(self, facts: Callable[[], SpanFacts]) -> Narration | None:
        """The span, not yet current. None under suppression (the row has its own switch), and with nothing to tell."""
        current = otel_context.get_current()
        if self._may_be_unset and _nobody_traces(current):
            return None
        if current.get(_SUPPRESSION_KEYS[0]) or current.get(_SUPPRESSION_KEYS[1]):
            return None
        known = facts()
        attributes: dict[str, str | int] = {
            OPERATION: "retrieval",
            OPENINFERENCE_KIND: "RETRIEVER",
            SEARCH_ID: str(known.search_id),
            FRAMEWORK: known.framework,
        }
        if known.corpus is not None:
            attributes[DATA_SOURCE] = known.corpus
        if known.surface is not None:
            attributes[SURFACE] = known.surface
        if known.top_k is not None:
            attributes[TOP_K] = known.top_k
        span = self._tracer.start_span(
            SPAN_NAME, current, SpanKind.INTERNAL, attributes, start_time=known.start_ns
        )
        return _SpanNarration(span, current)


def narrator_for(provider: TracerProvider | None) -> OtelNarrator:
    """A narrator that tells this provider, the global one, or nobody where the environment names one that fails."""
    try:
        return OtelNarrator(provider)
    except Exception as exc:  # noqa: BLE001  a provider that the environment names may raise anything
        _logger.error(  # noqa: TRY400  the type is enough, and a message is not ours to repeat
            "ragledger: the tracer provider cannot be loaded (%s); searches get rows and no spans",
            type(exc).__name__,
        )
        return OtelNarrator(trace.NoOpTracerProvider())


def scope_version() -> str | None:
    """Of the instrumentation scope, which is this distribution."""
    # Here: it brings in zipfile and email, a tenth of what `import ragledger` may take.
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


class _SpanNarration:
    __slots__ = ("_around", "_span", "_token", "trace")

    def __init__(self, span: Span, around: Context) -> None:
        self._span = span
        self._around = around
        self._token: object | None = None
        found = span.get_span_context()
        self.trace = (
            TraceIds(
                found.trace_id.to_bytes(16, "big"),
                found.span_id.to_bytes(8, "big"),
                found.trace_flags.sampled,
                "ours" if span.is_recording() else None,
            )
            if found.is_valid
            else TraceIds()
        )

    def attach(self) -> None:
        self._token = otel_context.attach(trace.set_span_in_context(self._span, self._around))

    def detach(self) -> None:
        token, self._token = self._token, None
        if isinstance(token, contextvars.Token):
            # otel_context.detach would log an error with a traceback when a cancelled coroutine is closed from
            # another context; there is nothing to undo there.
            try:
                token.var.reset(token)
            except ValueError:
                return

    def close(self, record: SearchRecord | None, row_status: str, end_ns: int) -> None:
        span = self._span
        try:
            if record is not None and span.is_recording():
                span.set_attributes(_closing_attributes(record, row_status))
                if record.status == "error":
                    span.set_status(Status(StatusCode.ERROR))
        finally:
            span.end(end_time=end_ns)


def _closing_attributes(record: SearchRecord, row_status: str) -> Mapping[str, str | int | float | bool]:
    attributes: dict[str, str | int | float | bool] = {
        # Set again: the SDK drops the oldest attributes past its limit, and back ends type the span by this one.
        OPENINFERENCE_KIND: "RETRIEVER",
        ROW_STATUS: row_status,
        EPOCH: record.epoch,
        DEGRADED: record.degraded,
        HITS: len(record.hits),
    }
    if record.parent_id is not None:
        attributes[PARENT_ID] = str(record.parent_id)
    if record.candidate_count is not None:
        attributes[CANDIDATES] = record.candidate_count
    if record.admitted_count is not None:
        attributes[ADMITTED] = record.admitted_count
    if record.degraded_reason is not None:
        attributes[DEGRADED_REASON] = record.degraded_reason
    if record.error_type is not None:
        attributes[ERROR_TYPE] = record.error_type
    if record.top_k is not None:
        attributes[TOP_K] = record.top_k
    if weights := _weight_attributes(record.weights):
        attributes.update(weights)
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


@contextmanager
def quietly() -> Iterator[None]:
    """Our own SQL makes no spans."""
    current = otel_context.get_current()
    for key in _SUPPRESSION_KEYS:
        current = otel_context.set_value(key, _SUPPRESSED, current)
    token = otel_context.attach(current)
    try:
        yield
    finally:
        otel_context.detach(token)
