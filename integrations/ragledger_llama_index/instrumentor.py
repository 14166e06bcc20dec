"""Global instrumentation: every LlamaIndex retriever that no handler has claimed, also under `opentelemetry-instrument`.

Never raises while instrumenting: the loader of OpenTelemetry would stop all instrumentors after this one.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

# Its first line tells type checkers to look away; without the extra it is not there at all.
from opentelemetry.instrumentation.instrumentor import (  # type: ignore[attr-defined, unused-ignore]
    BaseInstrumentor,
)

import ragledger
from ragledger.drift import disabled
from ragledger.registry import ledger_named

from .hooks import hooks

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["LlamaIndexInstrumentor"]

_WANTED_BY = "instrumentor"


class LlamaIndexInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """`LlamaIndexInstrumentor().instrument(ledger=...)`; without a ledger, one is opened from the environment."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """What must be installed, as in the extra that the loader reads."""
        return ("llama-index-core >= 0.14.19",)

    def instrument(self, **kwargs: Any) -> Any:
        """Starts. `ledger=` says where to; without it the environment does, at the first search.

        A ledger that is given later takes the place of the environment's.
        """
        given = kwargs.get("ledger")
        try:
            return self._start(given, **kwargs)
        except Exception as fault:  # noqa: BLE001  LlamaIndex has changed: the application works as without us
            return disabled("LlamaIndex", fault, given)

    def _start(self, given: Ledger | None, **kwargs: Any) -> Any:
        opens_its_own = isinstance(hooks().searches.fallback, _FromEnvironment)
        if self.is_instrumented_by_opentelemetry and opens_its_own and given is not None:
            self._instrument(**kwargs)
            return None
        return super().instrument(**kwargs)

    def _instrument(self, **kwargs: Any) -> None:
        given = kwargs.get("ledger")
        if given is not None:
            self._record_in(lambda: given)
        else:
            self._record_in(_FromEnvironment(kwargs.get("tracer_provider")))
        hooks().install(_WANTED_BY)

    def _uninstrument(self, **kwargs: Any) -> None:
        self._record_in(None)
        found = hooks()
        with found.searches.guard("llama_index.install"):
            found.release(_WANTED_BY)

    def _record_in(self, source: Callable[[], Ledger | None] | None) -> None:
        searches = hooks().searches
        with searches.guard("llama_index.install"):
            before, searches.fallback = searches.fallback, source
            if isinstance(before, _FromEnvironment):
                before.close()


class _FromEnvironment:
    """A ledger opened by the first search: instrumenting must neither wait nor fail, and a fork may come first.

    An open ledger of the default name is taken instead, so that the adapters of one process share a writer.
    """

    def __init__(self, tracer_provider: Any) -> None:
        self._tracer_provider = tracer_provider
        self._lock = threading.RLock()
        self._ledger: Ledger | None = None
        self._ours = False
        self._tried = False
        _waiting.add(self)

    def __call__(self) -> Ledger | None:
        opening = self._lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001  a signal handler searches
        if not self._tried and opening:
            hooks().searches.guard.count("llama_index.reentry")  # no row of this one
        elif not self._tried:
            with self._lock:
                if not self._tried:
                    self._find()
                    self._tried = True
        return self._ledger

    def close(self) -> None:
        """Closes the ledger, if it was opened here."""
        if self._ours and self._ledger is not None:
            self._ledger.close()

    def after_fork(self) -> None:
        """In a child: whoever was opening the ledger does not exist here."""
        self._lock = threading.RLock()

    def _find(self) -> None:
        self._ledger = ledger_named("default")
        if self._ledger is not None:
            return
        try:
            self._ledger = ragledger.open(tracer_provider=self._tracer_provider)
            self._ours = True
        except Exception as fault:  # noqa: BLE001  whatever the environment holds, the application goes on
            hooks().searches.guard.faults["adapter_disabled"] = 1
            disabled("LlamaIndex", fault)


_waiting: weakref.WeakSet[_FromEnvironment] = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_waiting):
        each.after_fork()


os.register_at_fork(after_in_child=_after_fork)
