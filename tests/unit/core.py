"""A ledger in memory and what it is made of: nothing here reaches a database or a tracing SDK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ragledger.testing import MemoryBackend, MemoryLedger

SECRET = "SECRET-7f3a"  # stands for a query, a chunk, the text of an exception

NOWHERE_ID = UUID("00000000-0000-4000-8000-000000000000")


class DriverUUID(UUID):
    """As asyncpg's: a subclass, which msgspec does not encode."""


@dataclass
class World:
    """A ledger and what it is made of."""

    ledger: MemoryLedger
    sink: MemoryBackend
    clock: Any
    narrator: Any

    @property
    def faults(self) -> dict[str, int]:
        return self.ledger.guard.faults
