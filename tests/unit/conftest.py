from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from unit.core import World

import ragledger
from ragledger.ids import new_id
from ragledger.testing import FrozenClock, MemoryBackend, MemoryLedger, MemoryNarrator


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """Ledgers in memory, with a narrator that writes down what it is told."""
    opened: list[World] = []

    def make(*, sink: Any = None, clock: Any = None, narrator: Any = None, **settings: Any) -> World:
        sink, clock = sink or MemoryBackend(), clock or FrozenClock()
        narrator = narrator or MemoryNarrator()
        ledger = MemoryLedger(backend=sink, clock=clock, narrator=narrator, **settings)
        ledger.recorder.new_id = new_id  # as in production: a clock that fails costs no id
        opened.append(World(ledger, sink, clock, narrator))
        return opened[-1]

    yield make
    for world in opened:
        world.ledger.close()
        assert not ragledger.current(), "a search was left open"


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
