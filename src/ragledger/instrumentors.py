"""Other instrumentors of retrieval on this machine: what of an application's text they export, and what stops them.

Their spans stand in the same traces as ours, and Ragledger cannot keep text out of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

__all__ = ["Instrumentor", "instrumentors"]

_HIDE = (
    "OPENINFERENCE_HIDE_INPUTS",
    "OPENINFERENCE_HIDE_OUTPUTS",
    "OPENINFERENCE_HIDE_EMBEDDINGS_TEXT",
    "OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS",
)
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_TRACELOOP = "TRACELOOP_TRACE_CONTENT"
_OFF = frozenset({"0", "false"})


class Instrumentor(NamedTuple):
    """One that is installed. `exports_text` is by its own switches, as the environment has them now."""

    distribution: str
    version: str
    active: bool
    exports_text: bool
    switches: str


class _Known(NamedTuple):
    distribution: str
    module: str
    instrumentor: str
    family: str


_KNOWN = (
    _Known(
        "openinference-instrumentation-langchain",
        "openinference.instrumentation.langchain", "LangChainInstrumentor", "openinference",
    ),
    _Known(
        "openinference-instrumentation-llama-index",
        "openinference.instrumentation.llama_index", "LlamaIndexInstrumentor", "openinference",
    ),
    _Known(
        "opentelemetry-instrumentation-langchain",
        "opentelemetry.instrumentation.langchain", "LangchainInstrumentor", "traceloop",
    ),
    _Known(
        "opentelemetry-instrumentation-llamaindex",
        "opentelemetry.instrumentation.llamaindex", "LlamaIndexInstrumentor", "traceloop",
    ),
    _Known(
        "opentelemetry-instrumentation-genai-langchain",
        "opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor", "official",
    ),
    _Known(
        "opentelemetry-instrumentation-genai-llama-index",
        "opentelemetry.instrumentation.genai.llama_index", "LlamaIndexInstrumentor", "official",
    ),
)  # fmt: skip
_SWITCHES = {
    "openinference": " ".join(f"{name}=true" for name in _HIDE),
    "traceloop": f"{_TRACELOOP}=false",
    "official": f"{_CAPTURE}=NO_CONTENT",
}


def instrumentors(environ: Mapping[str, str]) -> Iterator[Instrumentor]:
    """Those that are installed here, and whether they are at work in this very process."""
    for known in _KNOWN:
        try:
            installed = version(known.distribution)
        except PackageNotFoundError:
            continue
        yield Instrumentor(
            known.distribution,
            installed,
            _is_active(known),
            _exports_text(known.family, environ),
            _SWITCHES[known.family],
        )


def _is_active(known: _Known) -> bool:
    try:
        found = getattr(sys.modules[known.module], known.instrumentor)
        return bool(found().is_instrumented_by_opentelemetry)
    except Exception:  # noqa: BLE001  not loaded, or not what it was
        return False


def _exports_text(family: str, environ: Mapping[str, str]) -> bool:
    if family == "openinference":
        return any(environ.get(name, "").lower() != "true" for name in _HIDE)  # as its TraceConfig reads them
    if family == "traceloop":
        return environ.get(_TRACELOOP, "").strip().lower() not in _OFF
    return environ.get(_CAPTURE, "").strip().upper() in {"SPAN_ONLY", "SPAN_AND_EVENT", "EVENT_ONLY"}
