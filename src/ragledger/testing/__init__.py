"""For an application's own tests: a ledger without database and disk, a clock that stands still, captured spans.

Nothing here is imported by `import ragledger`, and nothing here needs pytest but `plugin` and `conformance`.
"""

from __future__ import annotations

from .backend import MemoryBackend
from .clock import FrozenClock
from .factories import make_hit, make_search, make_vote
from .ledger import MemoryLedger, memory_ledger
from .narrator import MemoryNarration, MemoryNarrator
from .spans import CapturedSpans

__all__ = [
    "CapturedSpans",
    "FrozenClock",
    "MemoryBackend",
    "MemoryLedger",
    "MemoryNarration",
    "MemoryNarrator",
    "make_hit",
    "make_search",
    "make_vote",
    "memory_ledger",
]
