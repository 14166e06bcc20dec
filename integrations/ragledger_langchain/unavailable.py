"""What stands for the adapter where LangChain is installed and not what we know: everything is as without us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ragledger.drift import disabled

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["because_of", "install", "observe", "observe_store"]

_R = TypeVar("_R")
_faults: list[Exception] = []


def because_of(fault: Exception) -> None:
    """Why; said when somebody wants the adapter, and not at import."""
    _faults.append(fault.with_traceback(None))


def observe(retriever: _R, ledger: Ledger, **_: Any) -> _R:
    """Gives back the retriever as it is."""
    disabled("LangChain", _faults[-1], ledger)
    return retriever


def observe_store(store: _R, ledger: Ledger, **_: Any) -> _R:
    """Gives back the store as it is."""
    disabled("LangChain", _faults[-1], ledger)
    return store


def install(cls: type | None = None) -> None:
    """Installs nothing."""
    disabled("LangChain", _faults[-1])
