"""The kit as pytest fixtures: `pytest_plugins = ["ragledger.testing.plugin"]` in a conftest.py.

No entry point: it would be loaded into every pytest run of everybody who has ragledger installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from .ledger import MemoryLedger
from .ledger import memory_ledger as opened
from .spans import CapturedSpans

__all__ = ["captured_spans", "make_memory_ledger", "memory_ledger"]


@pytest.fixture
def make_memory_ledger() -> Iterator[Callable[..., MemoryLedger]]:
    """Opens ledgers in memory, with the arguments of `ragledger.testing.memory_ledger`; closed after the test."""
    with ExitStack() as stack:

        def make(**given: Any) -> MemoryLedger:
            return stack.enter_context(opened(**given))

        yield make


@pytest.fixture
def memory_ledger(make_memory_ledger: Callable[..., MemoryLedger]) -> MemoryLedger:
    """A ledger in memory."""
    return make_memory_ledger()


@pytest.fixture
def captured_spans() -> CapturedSpans:
    """Spans of what gets its `provider`."""
    return CapturedSpans()
