from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from fix_pg import Database
from integration.shipping import world
from integration.texts import Ran

from ragledger.cli import main

__all__ = ["world"]  # the fixture


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
