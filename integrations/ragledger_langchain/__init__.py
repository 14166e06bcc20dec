"""LangChain retrievers, observed: every search becomes a row with the weights it ran under.

`observe` marks one retriever, `observe_store` a vector store that is called directly; `LangChainInstrumentor` watches
all retrievers. They never change what a search returns.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("langchain_core") is None:
    # OpenTelemetry's loader passes over this class without a word.
    raise ModuleNotFoundError(
        "ragledger_langchain needs: pip install 'ragledger[langchain]'", name="langchain_core"
    )
from ragledger.forks import unforked

try:
    from .direct import observe_store
    from .observe import observe
    from .wrap import install
except Exception as fault:  # noqa: BLE001  a framework that has changed must not break an application's import
    from .unavailable import because_of, install, observe, observe_store

    because_of(fault)

if TYPE_CHECKING:
    from .instrumentor import LangChainInstrumentor
    from .tools import feedback_tool, search_tool

__all__ = ["LangChainInstrumentor", "feedback_tool", "install", "observe", "observe_store", "search_tool"]


def __getattr__(name: str) -> Any:
    # Late: opentelemetry.instrumentation imports asyncio (40 ms), and only agents need LangChain's tools.
    # Once: the lock is held by background work too, and a tool may be made for each request.
    if name == "LangChainInstrumentor":
        with unforked:
            from . import instrumentor

        return globals().setdefault(name, instrumentor.LangChainInstrumentor)
    if name in {"feedback_tool", "search_tool"}:
        with unforked:
            from . import tools

        return globals().setdefault(name, getattr(tools, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
