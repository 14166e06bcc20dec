"""A window in which there is nothing: every command says the same, what was asked for and what there is instead."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_pg import Database
from measures.table_rows import TableRows, hit, minutes
from report.test_report_command import counted
from typer.testing import CliRunner

from ragledger.analyses.golden_files import save
from ragledger.cli.app import app
from ragledger.emptiness import nothing_in
from ragledger.errors import NothingToMeasure
from ragledger.measures.golden_set import GoldenSet, Judgment, Question
from ragledger.measures.report import Window

pytestmark = pytest.mark.pg

THERE = "2, from 2026-03-01 09:00 UTC to 2026-03-01 09:05 UTC, projects default, shop, corpora handbook, wiki"
COMMANDS = {
    "measure": ("measure",),
    "compare": ("compare", "e1", "e2"),
    "compare previous current": ("compare",),
    "compare --plan": ("compare", "--plan", "--effect", "0.1"),
    "calibrate": ("calibrate",),
    "curate": ("curate",),
    "golden build": ("golden", "build", "out.json", "--questions", "asked.txt"),
    "golden drift": ("golden", "drift", "set.json"),
    "report": ("report", "--html", "page.html"),
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("asked.txt").write_text("Why?\n")
    question = Question(id="1", text="Why?", judgments=(Judgment(id="a", grade=2),))
    save(
        GoldenSet(name="set", unit="chunk", corpus=None, questions=(question,), provenance={}),
        Path("set.json"),
    )
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_was_asked_and_what_there_is(
    name: str, database: Database, here: Path
) -> None:
    bounds = ("--until", "2026-02-01", "--since", "2026-01-01")
    assert said(database, *COMMANDS[name], *bounds).endswith(
        " since 2026-01-01 00:00 UTC until 2026-02-01 00:00 UTC; the table holds no search"
    )
    rows = TableRows()
    rows.search(hit("a"), started_at=minutes(0), project="shop")
    rows.search(hit("a"), started_at=minutes(5), corpus="wiki")
    counted(rows, database)

    at_other_times, elsewhere = (
        said(database, *COMMANDS[name], *bounds),
        said(database, *COMMANDS[name], "--since", "all", "--project", "shop", "--corpus", "nobodys"),
    )
    there = "counted are" if name == "report" else "searches at other times"
    assert at_other_times.endswith(f"since 2026-01-01 00:00 UTC until 2026-02-01 00:00 UTC; {there}: {THERE}")
    there = "counted are" if name == "report" else "searches in the table"
    assert elsewhere.endswith(f" of project 'shop', corpus 'nobodys'; {there}: {THERE}")
    assert list(here.glob("out.json")) == list(here.glob("page.html")) == []


class Noted:
    """A connection that notes what it was asked."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection, self.asked = connection, list[tuple[str, Any]]()

    def execute(self, text: str, parameters: Any) -> Any:
        self.asked.append((text, parameters))
        return self.connection.execute(text, parameters)

    def tables(self) -> list[set[str]]:
        """What the plan of each question reads."""
        plans = (
            self.connection.execute("EXPLAIN (FORMAT JSON) " + text, given) for text, given in self.asked
        )
        return [set(re.findall(r'"Relation Name": "(\w+)"', json.dumps(plan.fetchone()))) for plan in plans]


@pytest.mark.parametrize(
    ("window", "questions"), [(Window(project="shpo"), 2), (Window(project="shpo", since=minutes(0)), 3)]
)
def test_a_slip_of_the_pen_costs_no_more_than_the_searches(
    database: Database, window: Window, questions: int
) -> None:
    rows = TableRows()
    rows.search(hit("a"), started_at=minutes(0), project="shop")
    with database.connect() as connection:
        rows.insert(connection)
        noted = Noted(connection)
        assert "searches in the table: 1, " in str(nothing_in(noted, window, "measure"))  # type: ignore[arg-type]
        assert noted.tables() == [{"searches"}] * questions


def said(database: Database, *arguments: str) -> str:
    """What a command says that finds nothing; `main` makes of it a line and exit code 2."""
    result = CliRunner().invoke(app, [*arguments, "--dsn", database.dsn])
    assert isinstance(result.exception, NothingToMeasure), result.output
    assert str(result.exception).startswith("nothing to ")
    assert result.stdout == ""
    return str(result.exception)
