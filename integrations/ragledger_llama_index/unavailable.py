"""What stands for the adapter where LlamaIndex is installed and not what we know: everything is as without us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ragledger.drift import disabled

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = [
    "LedgerCallbackHandler",
    "LlamaIndexInstrumentor",
    "because_of",
    "feedback_tool",
    "observe_store",
    "search_tool",
]

_S = TypeVar("_S")

_faults: list[Exception] = []


def because_of(fault: Exception) -> None:
    """Why; said when somebody wants the adapter, and not at import."""
    _faults.append(fault.with_traceback(None))


def observe_store(store: _S, ledger: Ledger, **_: Any) -> _S:
    """Gives back the store as it is."""
    disabled("LlamaIndex", _faults[-1], ledger)
    return store


def search_tool(retriever: Any, ledger: Ledger, **_: Any) -> Any:
    """There is no tool without the framework that it is for."""
    raise _faults[-1]


def feedback_tool(ledger: Ledger, **_: Any) -> Any:
    """The same."""
    raise _faults[-1]


class LedgerCallbackHandler:
    """What a callback manager asks of a handler, doing nothing."""

    def __init__(self, ledger: Ledger, *, corpus: str | None = None, surface: str | None = None) -> None:
        self.event_starts_to_ignore: tuple[Any, ...] = ()
        self.event_ends_to_ignore: tuple[Any, ...] = ()
        disabled("LlamaIndex", _faults[-1], ledger)

    def on_event_start(self, event_type: Any, payload: Any = None, event_id: str = "", **_: Any) -> str:
        """Nothing."""
        return event_id

    def on_event_end(self, event_type: Any, payload: Any = None, event_id: str = "", **_: Any) -> None:
        """Nothing."""

    def start_trace(self, trace_id: str | None = None) -> None:
        """Nothing."""

    def end_trace(self, trace_id: str | None = None, trace_map: Any = None) -> None:
        """Nothing."""


class LlamaIndexInstrumentor:
    """What OpenTelemetry's loader asks of an instrumentor, doing nothing."""

    is_instrumented_by_opentelemetry = False

    def instrument(self, **kwargs: Any) -> None:
        """Says that nothing is observed."""
        disabled("LlamaIndex", _faults[-1], kwargs.get("ledger"))

    def uninstrument(self, **kwargs: Any) -> None:
        """Nothing."""
