"""A writer without a disk: what `journal.state.WriterState` is in a lock file, in memory.

Lost with the process, but for what the table's `writers` was told.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from uuid import UUID

from .ids import new_id
from .journal.state import Identity

__all__ = ["MemoryWriter"]


@dataclass(kw_only=True)
class MemoryWriter:
    """A row of `writers`: of direct mode, and of what a process refused because it had no journal."""

    identity: Identity
    writer_id: UUID = field(default_factory=new_id)
    started_at: int = field(default_factory=lambda: time.time_ns() // 1000)
    pid: int = field(default_factory=os.getpid)
    attempted: int = 0
    shipped: int = 0
    refused: dict[str, int] = field(default_factory=dict)
