from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from unit.core import FrozenClock, MemorySink, Teller, World

import ragledger
from ragledger.recorder import Recorder

NOWHERE = "postgresql://127.0.0.1:1/nowhere"


@pytest.fixture
def make_world() -> Iterator[Callable[..., World]]:
    """Ledgers with a sink in memory, a clock that stands still and a narrator that writes down what it is told."""
    opened: list[World] = []

    def make(*, sink: Any = None, clock: Any = None, narrator: Any = None, **settings: Any) -> World:
        settings = {"dsn": NOWHERE, "project": "test", "ship": "sidecar", "strict": True} | settings
        ledger = ragledger.open(**settings)
        world = World(ledger, sink or MemorySink(), clock or FrozenClock(), narrator or Teller())
        ledger.recorder = Recorder(
            ledger,
            sink=world.sink,
            narrator=world.narrator,
            guard=ledger.guard,
            clock=world.clock,
        )
        opened.append(world)
        return world

    yield make
    for world in opened:
        world.ledger.close()
        assert not ragledger.current(), "a search was left open"


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
