"""The mark on a retriever: which ledger, and what is said of every search below.

It records nothing. LlamaIndex lets an exception in a callback handler reach the application and tells it neither
scores nor cancellations; a span handler on the dispatcher does the recording and finds this mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.callbacks.schema import CBEventType

from ragledger.drift import disabled
from ragledger.registry import ledger_named

from .hooks import hooks
from .marks import Mark

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["LedgerCallbackHandler"]


class LedgerCallbackHandler(BaseCallbackHandler):
    """Says that the searches of a callback manager belong to `ledger`.

    `Settings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])`, before the index is built: an
    index keeps the manager that it was built with (`Settings.callback_manager.add_handler(...)` reaches those too).

    A copy of a retriever shares the handler. A pickled one carries the ledger's name: in a process where no ledger
    of that name is open, it does nothing.
    """

    _ragledger_handler: ClassVar[bool] = True

    def __init__(self, ledger: Ledger, *, corpus: str | None = None, surface: str | None = None) -> None:
        if not hasattr(ledger, "recorder"):
            raise TypeError(f"expected an open ledger (ragledger.open()), got {type(ledger).__name__}")
        self._bind(ledger.name, ledger, corpus, surface)
        try:
            self._hooks.install("handler")
        except Exception as fault:  # noqa: BLE001  LlamaIndex has changed: the application works as without us
            disabled("LlamaIndex", fault, ledger)

    def _bind(self, name: str, ledger: Ledger | None, corpus: str | None, surface: str | None) -> None:
        super().__init__(event_starts_to_ignore=list(CBEventType), event_ends_to_ignore=list(CBEventType))
        self._name = name
        said = {"corpus": corpus, "surface": surface}
        self._said = {key: value for key, value in said.items() if value is not None}
        self._mark = Mark(ledger, self._said) if ledger is not None else None
        self._hooks = hooks()

    def mark(self) -> Mark | None:
        """The ledger and what is said; None while no ledger of this name is open here."""
        if self._mark is not None:
            return self._mark
        ledger = ledger_named(self._name)
        return Mark(ledger, self._said) if ledger is not None else None

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        parent_id: str = "",
        **kwargs: Any,
    ) -> str:
        """Nothing: every event is ignored."""
        return event_id

    def on_event_end(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        **kwargs: Any,
    ) -> None:
        """Nothing: every event is ignored."""

    def start_trace(self, trace_id: str | None = None) -> None:
        """Makes sure that the recording handlers still stand: somebody may have replaced the dispatcher's list."""
        self._hooks.keep()

    def end_trace(self, trace_id: str | None = None, trace_map: dict[str, list[str]] | None = None) -> None:
        """Nothing."""

    def __copy__(self) -> LedgerCallbackHandler:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LedgerCallbackHandler:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (type(self), self._name, self._said.get("corpus"), self._said.get("surface"))


def _revive(
    cls: type[LedgerCallbackHandler], name: str, corpus: str | None, surface: str | None
) -> LedgerCallbackHandler:
    handler = cls.__new__(cls)
    handler._bind(name, None, corpus, surface)  # noqa: SLF001  the module's own class
    found = hooks()
    with found.searches.guard("llama_index.install"):
        found.install("handler")
    return handler
