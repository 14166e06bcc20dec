"""The password of the dsn: it is needed to connect, and nothing that we write or show has it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from privacy.canaries import files
from privacy.refusing import RefusingServer, refusing_server

import ragledger
from ragledger import DatabaseUnavailable, Ledger
from ragledger.cli import main
from ragledger.wiring import target_from

PASSWORD = "hunter2canary"
SECRET_KEY = b"canarykey-canarykey-canarykey"


@pytest.fixture
def server() -> Iterator[RefusingServer]:
    with refusing_server() as server:
        yield server


@pytest.fixture
def dsn(server: RefusingServer) -> str:
    return server.dsn(PASSWORD)


def test_p9_a_refused_password_is_told_and_not_repeated(dsn: str, server: RefusingServer) -> None:
    with pytest.raises(DatabaseUnavailable) as refused:
        target_from(dsn=dsn).connect()

    assert server.given == [PASSWORD]
    assert str(refused.value) == "no connection to the database: user or password refused"
    assert refused.value.__suppress_context__


def test_p9_a_ledger_shows_and_writes_it_nowhere(
    dsn: str,
    make_ledger: Callable[..., Ledger],
    server: RefusingServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    ledger = make_ledger(dsn=dsn, key=SECRET_KEY, exit_drain_s=0.1, strict=False)
    with ledger.search() as search:
        search.candidates(ragledger.Candidate(None, score=0.5), ragledger.Candidate(ledger.derive_id("text")))
    assert not ledger.flush(0.5)
    ledger.close()

    assert server.given[0] == PASSWORD
    logged = [f"{record.getMessage()} {record.exc_info} {record.__dict__}" for record in caplog.records]
    assert any("the table takes no records now" in line for line in logged)
    shown = [repr(ledger), str(ledger), repr(ledger.facts()), *logged]
    for written in [line.encode() for line in shown] + [data for _, data in files(tmp_path)]:
        assert PASSWORD.encode() not in written
        assert SECRET_KEY not in written


@pytest.mark.parametrize("command", ["init", "tail", "measure", "ship", "doctor"])
def test_p9_the_command_line_does_not_repeat_it(
    dsn: str,
    command: str,
    server: RefusingServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["ragledger", command, "--dsn", dsn])
    with pytest.raises(SystemExit):
        main()
    out, err = capfd.readouterr()

    assert server.given[0] == PASSWORD
    assert "user or password refused" in out + err
    assert PASSWORD not in out + err
    assert "Traceback" not in err
