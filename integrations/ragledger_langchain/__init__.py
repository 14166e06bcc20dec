"""LangChain retrievers, observed: every search becomes a row with the weights it ran under.

`observe` marks one retriever; `LangChainInstrumentor` watches them all. It never changes what a search returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import langchain_core  # noqa: F401
except ImportError as exc:
    # The class is kept: OpenTelemetry's loader passes over a missing module and logs a traceback for anything else.
    raise type(exc)("ragledger_langchain needs: pip install 'ragledger[langchain]'", name=exc.name) from exc

from .observe import observe
from .wrap import install

if TYPE_CHECKING:
    from .instrumentor import LangChainInstrumentor

__all__ = ["LangChainInstrumentor", "install", "observe"]


def __getattr__(name: str) -> Any:
    if name == "LangChainInstrumentor":  # late: opentelemetry.instrumentation imports asyncio (40 ms)
        from .instrumentor import LangChainInstrumentor

        return LangChainInstrumentor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
