from __future__ import annotations

from ragledger.testing.plugin import make_memory_ledger, memory_ledger

__all__ = ["make_memory_ledger", "memory_ledger"]
