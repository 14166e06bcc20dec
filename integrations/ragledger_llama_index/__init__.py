"""Ragledger for LlamaIndex: a handler that says which ledger, an instrumentor for everything at once."""

from __future__ import annotations

try:
    from .handler import LedgerCallbackHandler
    from .instrumentor import LlamaIndexInstrumentor
except ModuleNotFoundError as exc:
    # This class of ImportError, because OpenTelemetry's loader passes over it without a traceback.
    raise ModuleNotFoundError(
        "ragledger_llama_index needs: pip install 'ragledger[llama-index]'", name=exc.name
    ) from exc

__all__ = ["LedgerCallbackHandler", "LlamaIndexInstrumentor"]
