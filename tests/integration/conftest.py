from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from fix_pg import Database
from integration.shipping import World
from integration.texts import Ran

from ragledger.cli import main


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    """Journals beside a database of their own."""
    made = World(database)
    yield made
    for journal in made.journals:
        journal.release()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs `ragledger ...` in this process."""

    def ran(database: Database, *arguments: str, dsn: str | None = None) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ragledger", *arguments, "--dsn", dsn or database.dsn])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return Ran(left.value.code or 0, *capsys.readouterr())

    return ran
