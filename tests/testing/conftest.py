from __future__ import annotations

from ragledger.testing.plugin import captured_spans, make_memory_ledger, memory_ledger

__all__ = ["captured_spans", "make_memory_ledger", "memory_ledger"]
