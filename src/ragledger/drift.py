"""A framework that is not what an adapter was written for: the adapter is off, the application goes on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .errors import RagledgerError
from .registry import ledgers

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["disabled"]

_logger = logging.getLogger(__name__)
_said: set[str] = set()


def disabled(framework: str, fault: Exception, ledger: Ledger | None = None) -> None:
    """One warning, and a count as `adapter_disabled`: in the ledger, or in all that are open where none is named.

    A wrong setting is said every time; that a framework has changed once, however many retrievers there are.
    """
    for each in (ledger,) if ledger is not None else ledgers():
        faults = each.guard.faults
        faults["adapter_disabled"] = faults.get("adapter_disabled", 0) + 1
    what = _said_by(fault)
    if isinstance(fault, RagledgerError) or framework not in _said:
        if not isinstance(fault, RagledgerError):
            _said.add(framework)
        _logger.warning("ragledger: %s is not observed (%s)", framework, what)


def _said_by(fault: Exception) -> str:
    """Our own errors are written for people and quote nothing; of others, the type."""
    return str(fault) if isinstance(fault, RagledgerError) else type(fault).__name__
