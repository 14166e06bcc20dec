"""Open ledgers by name, so that a marked retriever finds its ledger again after a copy, a pickle or a new process.

Strong: a marked retriever carries a name only, and its ledger must not vanish because nobody else holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["ledger_named", "ledgers", "register", "unregister"]

_ledgers: dict[str, Ledger] = {}


def register(ledger: Ledger) -> None:
    """Makes the ledger findable; the latest of a name wins."""
    _ledgers[ledger.name] = ledger


def unregister(ledger: Ledger) -> None:
    """Forgets a closed ledger, unless another one has taken its name."""
    if _ledgers.get(ledger.name) is ledger:
        del _ledgers[ledger.name]


def ledger_named(name: str) -> Ledger | None:
    """The open ledger of that name in this process, if any."""
    return _ledgers.get(name)


def ledgers() -> list[Ledger]:
    """Every open ledger of this process."""
    return list(_ledgers.values())
