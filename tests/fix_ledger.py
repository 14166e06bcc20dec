"""A ledger on a fresh database: strict, so that a fault of ours fails the test that met it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ragledger
from ragledger import Ledger


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own key, journal or settings."""
    import os

    for name in [
        name for name in os.environ if name.startswith("RAGLEDGER_") and name != "RAGLEDGER_TEST_DSN"
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def make_ledger(database: Any) -> Iterator[Callable[..., Ledger]]:
    """Opens ledgers on the test's database; every one is closed at the end."""
    opened: list[Ledger] = []

    def make(**settings: Any) -> Ledger:
        settings = {"dsn": database.dsn, "project": "test", "strict": True} | settings
        ledger = ragledger.open(**settings)
        opened.append(ledger)
        return ledger

    yield make
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(make_ledger: Callable[..., Ledger]) -> Ledger:
    return make_ledger()
