"""`ragledger verify --writers`: the sum of P5, from the rows themselves and the journal directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database
from typer.testing import CliRunner

from ragledger import Ledger
from ragledger.balance import WriterBalance, balances
from ragledger.cli.app import app
from ragledger.ids import new_id


@pytest.fixture
def account(ledger: Ledger, database: Database) -> Any:
    """Three searches, a vote and a vote that is pending; then the balance of the one writer."""
    for _ in range(3):
        with ledger.search() as search:
            search.candidates()
    ledger.vote(new_id(), rank=1, outcome="relevant")
    assert ledger.flush()

    def read() -> WriterBalance:
        with database.connect() as connection:
            (found,) = balances(connection, Path(ledger.facts()["journal"]))
        return found

    return read


def test_p5_every_record_has_one_fate(account: Any) -> None:
    found = account()

    assert (found.offered, found.written, found.pending) == (4, 3, 1)
    assert (found.waiting, found.rejected, found.refused, found.unfinished) == (0, 0, 0, 0)
    assert found.difference == 0
    assert found.faults == ()


@pytest.mark.parametrize(
    ("tamper", "fault"),
    [
        ("DELETE FROM searches WHERE writer_seq = 2", "numbers whose rows are gone: {[2,3)}"),
        ("UPDATE searches SET writer_seq = 9 WHERE writer_seq = 2", "not accounted for: {[9,10)}"),
        ("UPDATE searches SET writer_seq = 1 WHERE writer_seq = 2", "1 number(s) with more than one row"),
        ("UPDATE writers SET landed = landed - '{[1,2)}'", "numbers without a fate: {[1,2)}"),
        ("UPDATE writers SET landed = landed + '{[4,5)}'", "numbers with two fates: {[4,5)}"),
        ("DELETE FROM pending_feedback", "numbers without a fate: {[4,5)}"),
    ],
)
def test_p5_a_gap_or_an_overlap_is_named(account: Any, database: Database, tamper: str, fault: str) -> None:
    with database.connect() as connection:
        connection.execute(tamper)

    assert fault in "\n".join(account().faults)


def test_p5_the_command_says_whether_it_adds_up(
    account: Any, ledger: Ledger, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    good = CliRunner().invoke(app, ["verify", "--writers", "--json"])
    assert (good.exit_code, json.loads(good.stdout)[0]["offered"]) == (0, 4)

    with database.connect() as connection:
        connection.execute("DELETE FROM searches WHERE writer_seq = 2")
    bad = CliRunner().invoke(app, ["verify", "--writers"])
    assert bad.exit_code == 1
    assert "4 offered = 3 written" in bad.stdout
