"""Every retriever of the process, watched: by hand, or without a line of code under `opentelemetry-instrument`."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

import ragledger
from ragledger.drift import disabled
from ragledger.forks import unforked

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["LangChainInstrumentor"]


class LangChainInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Records the searches of all retrievers in one ledger.

    A retriever that is observed by itself is recorded in its own ledger too, and once where the two are the same.
    """

    _ledger: Ledger | None = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """What has to be installed for this to make sense."""
        return ("langchain-core >= 1.7",)

    def instrument(self, **kwargs: Any) -> Any:
        """Starts. `ledger=` says where to; without it the environment does, as for `ragledger.open()`."""
        result = super().instrument(**kwargs)
        if self._ledger is None:
            # Disabled for want of a ledger, say: a later call that brings one must not be refused.
            self._is_instrumented_by_opentelemetry = False
        return result

    def _instrument(self, **kwargs: Any) -> None:
        # Nothing leaves here: what OpenTelemetry's loader sees raised ends all later instrumentations.
        try:
            with unforked:
                from . import wrap

            ledger = kwargs.get("ledger") or _from_environment(kwargs.get("tracer_provider"))
            wrap.watch(ledger)
        except Exception as exc:  # noqa: BLE001  API drift, no database setting, anything: the application goes on
            disabled("LangChain", exc, kwargs.get("ledger"))
        else:
            self._ledger = ledger

    def _uninstrument(self, **kwargs: Any) -> None:
        from . import wrap

        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            wrap.unwatch(ledger)


def _from_environment(tracer_provider: Any) -> Ledger:
    """The ledger that the process watches with already, else one that the environment describes."""
    from . import wrap

    watching = wrap.watched_by()
    return watching[0] if watching else ragledger.open(tracer_provider=tracer_provider)
