"""Other instrumentors of retrieval in the same process: one span instead of two where they can be spoken to.

The official GenAI ones have a protocol: a `RetrievalData` in the context says that a retrieval span is open. Where
there is one, we write on it instead of making a span; where ours is the outermost, we put one there, and theirs make
none. OpenInference has none: theirs stands beside ours, with our id on it where it is the current one.

Nothing is imported but what they have loaded themselves, and whatever of it has changed costs the cooperation alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from ragledger import sanitise
from ragledger.model import SearchRecord

from . import names as n
from .narrator import closing_attributes, trace_ids

__all__ = ["Beside", "meet"]

_KEY = "opentelemetry.genai.client.retrieval.context"
_OURS = "ragledger.retrieval.context"
_UTIL_GENAI = "opentelemetry.util.genai.invocation"
_OPENINFERENCE_LANGCHAIN = "openinference.instrumentation.langchain"
_OPENINFERENCE_SCOPE = "openinference."
_OFFICIAL_SCOPES = ("opentelemetry.instrumentation.genai.", "opentelemetry.util.genai.")
_RETRIEVING = (".retrieve", ".aretrieve", "._retrieve", "._aretrieve")
_THEIRS = frozenset({n.OPERATION, n.DATA_SOURCE, n.TOP_K})  # they say these themselves


class Beside:
    """What was met where a search opens."""

    __slots__ = ("_data", "narration", "parent")

    def __init__(
        self, narration: ForeignNarration | None = None, parent: Context | None = None, data: Any = None
    ) -> None:
        self.narration = narration
        self.parent = parent
        self._data = data

    def within(self, context: Context) -> Context:
        """The context of the search: in it, retrieval spans of the official instrumentors are not made."""
        if self._data is None:
            return context
        return otel_context.set_value(_OURS, self._data, otel_context.set_value(_KEY, self._data, context))


def meet(current: Context, attributes: Mapping[str, Any]) -> Beside:
    """Looks around. Never raises."""
    try:
        return _met(current, attributes)
    except Exception:  # noqa: BLE001  API drift of a library that is not ours: a span of our own, as without it
        return Beside()


def _met(current: Context, attributes: Mapping[str, Any]) -> Beside:
    around = trace.get_current_span(current)
    theirs: Any = current.get(_KEY)
    # A task that outlives their retrieval still has it in its context, and an ended span tells nothing any more.
    # And what is current may be a span of the application inside of theirs, on which nothing of ours belongs.
    if (
        theirs is not None
        and theirs is not current.get(_OURS)
        and around.is_recording()
        and _is_official(around)
    ):
        said = getattr(theirs, "attributes", None)
        # One of them is one search: what runs inside of it, or after it, has a span of its own.
        if isinstance(said, dict) and n.SEARCH_ID not in said:
            if getattr(theirs, "data_source_id", "") is None:
                theirs.data_source_id = attributes.get(n.DATA_SOURCE)
            return Beside(ForeignNarration(around, said, attributes))
    if _is_openinference_retriever(around):
        around.set_attribute(n.SEARCH_ID, attributes[n.SEARCH_ID])
    make = getattr(sys.modules.get(_UTIL_GENAI), "RetrievalData", None)
    parent = _openinference_run() if around is trace.INVALID_SPAN else None
    return Beside(parent=parent, data=make() if make is not None else None)


def _is_official(span: Span) -> bool:
    scope = getattr(span, "instrumentation_scope", None)
    return scope is not None and scope.name.startswith(_OFFICIAL_SCOPES)


def _is_openinference_retriever(span: Span) -> bool:
    if not span.is_recording():
        return False
    scope = getattr(span, "instrumentation_scope", None)
    if scope is None or not scope.name.startswith(_OPENINFERENCE_SCOPE):
        return False
    said = getattr(span, "attributes", None) or {}
    if n.SEARCH_ID in said:
        return False
    return said.get(n.OPENINFERENCE_KIND) == "RETRIEVER" or str(getattr(span, "name", "")).endswith(
        _RETRIEVING
    )


def _openinference_run() -> Context | None:
    """The LangChain run around this search, which OpenInference never makes current."""
    module = sys.modules.get(_OPENINFERENCE_LANGCHAIN)
    if module is None or not module.LangChainInstrumentor().is_instrumented_by_opentelemetry:
        return None
    span = module.get_current_span()
    return trace.set_span_in_context(span) if span is not None else None


class ForeignNarration:
    """A search told on the span of another instrumentor, which starts and ends it. No text and no ids of documents."""

    __slots__ = ("_said", "trace")

    def __init__(self, span: Span, said: dict[str, Any], attributes: Mapping[str, Any]) -> None:
        self._said = said
        scope = getattr(span, "instrumentation_scope", None)
        self.trace = trace_ids(span, sanitise.text(getattr(scope, "name", None), set()) or "foreign")
        # At once: a callback of theirs may end the span before we are told how the search went.
        said.update({name: value for name, value in attributes.items() if name not in _THEIRS})

    def attach(self) -> None:
        """It is current already."""

    def detach(self) -> None:
        """It is theirs to undo."""

    def hear(self, query: str | None, chunks: Sequence[str | None]) -> None:
        """They have a switch of their own."""

    def close(self, record: SearchRecord | None, row_status: str, end_ns: int) -> None:
        """Says how it went, on a span that may have ended."""
        if record is not None:
            closing = closing_attributes(record, row_status)
            self._said.update({name: value for name, value in closing.items() if name not in _THEIRS})
