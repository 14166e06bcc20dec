"""Ragledger for LlamaIndex: a handler that says which ledger, an instrumentor for everything at once."""

from __future__ import annotations

from importlib.util import find_spec

if any(
    find_spec(name) is None for name in ("llama_index", "llama_index.core", "opentelemetry.instrumentation")
):
    # OpenTelemetry's loader passes over this class without a word.
    raise ModuleNotFoundError(
        "ragledger_llama_index needs: pip install 'ragledger[llama-index]'", name="llama_index.core"
    )
try:
    from .handler import LedgerCallbackHandler
    from .instrumentor import LlamaIndexInstrumentor
    from .store import observe_store
    from .tools import feedback_tool, search_tool
except Exception as fault:  # noqa: BLE001  a framework that has changed must not break an application's import
    from .unavailable import (  # type: ignore[assignment]
        LedgerCallbackHandler,
        LlamaIndexInstrumentor,
        because_of,
        feedback_tool,
        observe_store,
        search_tool,
    )

    because_of(fault)

__all__ = [
    "LedgerCallbackHandler",
    "LlamaIndexInstrumentor",
    "feedback_tool",
    "observe_store",
    "search_tool",
]
