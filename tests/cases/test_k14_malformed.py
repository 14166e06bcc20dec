"""K14: rows of an older or a foreign writer, whose JSON is none of ours."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from fix_pg import Database

from ragledger import Candidate, Ledger
from ragledger.cli import main
from ragledger.measurement import Window, measure

pytestmark = pytest.mark.pg
ODD: list[Any] = [5, "text", None, [], [1, "a"], True, {}, {"effective": 3}, {"vector": "x", "n": {"n": []}}]


@pytest.mark.parametrize("command", ["measure", "tail", "doctor", "verify --writers", "ship"])
def test_d49_json_of_any_form_breaks_no_command(
    ledger: Ledger,
    database: Database,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    search_ids = [one(ledger) for _ in ODD]
    assert ledger.flush()
    with database.connect() as connection:
        for value, search_id in zip(ODD, search_ids, strict=True):
            text = json.dumps(value)
            connection.execute(
                "UPDATE searches SET weights = %s::jsonb, signals = %s::jsonb WHERE search_id = %s",
                (text, text, search_id),
            )
            connection.execute(
                "UPDATE hits SET signals = %s::jsonb WHERE search_id = %s AND rank = 1", (text, search_id)
            )
        connection.commit()
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    monkeypatch.setattr(sys, "argv", ["ragledger", *command.split(), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in {0, None}, capsys.readouterr()
    for line in capsys.readouterr().out.splitlines() if command == "tail" else [capsys.readouterr().out]:
        json.loads(line)


def test_d49_its_rows_count_as_searches(ledger: Ledger, database: Database) -> None:
    search_id = one(ledger)
    one(ledger)
    assert ledger.flush()
    with database.connect() as connection:
        connection.execute("UPDATE hits SET signals = '7', vector_score = NULL, score = NULL")
        connection.execute("UPDATE searches SET weights = 'null' WHERE search_id = %s", (search_id,))
        connection.commit()
        found = measure(connection, Window())
    assert (found.searches.searches, found.searches.by_status.ok) == (2, 2)
    assert sum(epoch.searches for epoch in found.epochs) == 2


def one(ledger: Ledger) -> Any:
    with ledger.search(weights={"vector": 1.0}) as search:
        search.candidates(
            Candidate("a", vector=0.5, score=0.5, signals={"other": 0.1}), Candidate("b", lexical=0.0)
        )
    return search.receipt.search_id
