"""`ragledger curate` as a person and a program call it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from curation.scene import doc, list_documents, store
from fix_pg import Database
from measures.table_rows import TableRows
from typer.testing import CliRunner

from ragledger.cli.app import app
from ragledger.errors import ConfigError, NothingToMeasure

pytestmark = pytest.mark.pg


def run(database: Database, *options: str) -> Any:
    return CliRunner().invoke(app, ["curate", "--dsn", database.dsn, *options])


def some(database: Database) -> None:
    rows = TableRows()
    for number in range(30):
        search = rows.search(doc("guide"), doc("rot"), query_key=b"q" * 16, epoch=f"e{number % 2}")
        if number < 3:
            rows.vote(search, 1, "relevant")
            rows.vote(search, 2, "not_relevant", by=f"human:v{number % 2}")
    rows.search(query_key=b"nothing-found---", surface="agent", epoch="e1")
    store(rows, database)
    list_documents(database, "guide", "rot", "unseen")


def test_the_report_says_why_in_plain_words(database: Database) -> None:
    some(database)
    done = run(database, "--markdown")
    assert done.exit_code == 0, done.output
    for words in (
        "2 epochs together: e0 (15), e1 (16)",
        "never added up: human 6 by 3",
        "| handbook<br>rot | retire | judged, not useful: human: 3 of 3 votes by 2 actors not useful",
        "| handbook<br>unseen | revise | never retrieved: 31 searches of its corpus since 2026-03-01, when the inventory first had it, and none considered it",
        "| handbook<br>guide | confirm | useful: human: 0 of 3 votes by 1 actor not useful",
        "accesses: none are recorded here",
    ):
        assert words in done.output, words
    assert b"nothing-found---".hex()[:16] in done.output
    lines = [line for line in done.output.splitlines() if line.startswith("| handbook<br>")]
    assert [line.split("|")[2].strip() for line in lines] == ["retire", "revise", "confirm"]


def test_json_lists_what_was_asked_for(database: Database) -> None:
    some(database)
    found = json.loads(
        run(database, "--json", "--class", "useful", "--class", "not_useful", "--limit", "1").output
    )
    assert (found["schema"], found["total"], found["chosen"], len(found["documents"])) == (1, 3, 2, 1)
    assert found["documents"][0]["class"] == "not_useful"
    assert {name: count["n"] for name, count in found["classes"].items() if count["n"]} == {
        "not_useful": 1,
        "useful": 1,
        "never_retrieved": 1,
    }
    assert found["least"]["ratio"] == 0.7
    alone = json.loads(run(database, "--json", "--class", "few_votes", "--min-actors", "3").output)
    assert [(one["id"], one["suggestion"]) for one in alone["documents"]] == [("rot", None)]
    everything = json.loads(run(database, "--json", "--limit", "0", "--min-votes", "4").output)
    assert [one["class"] for one in everything["documents"]] == ["never_retrieved", "few_votes", "few_votes"]


def test_an_inventory_may_be_a_file_a_query_or_a_table(database: Database, tmp_path: Path) -> None:
    some(database)
    (tmp_path / "ids.txt").write_text("guide\nlost\n")
    with database.connect() as connection:
        connection.execute("CREATE TABLE public.embeddings (id text, document text)")
        connection.execute("INSERT INTO public.embeddings VALUES ('guide', 'guide'), ('lost', 'lost')")
    for options in (
        ("--inventory", str(tmp_path / "ids.txt")),
        ("--inventory-query", "SELECT document FROM embeddings"),
        ("--inventory-table", "public.embeddings", "--inventory-id", "id"),
        ("--inventory-table", "embeddings", "--inventory-dsn", database.dsn),
    ):
        found = json.loads(run(database, "--json", *options).output)
        assert {one["id"]: one["class"] for one in found["documents"]} == {
            "guide": "useful", "rot": "gone", "lost": "never_retrieved",
        }  # fmt: skip
        assert found["inventory"]["matched"] == 1


def test_the_graph_goes_to_a_private_file_or_alone_to_stdout(database: Database, tmp_path: Path) -> None:
    some(database)
    path = tmp_path / "graph.json"
    done = run(database, "--graph", str(path))
    assert done.exit_code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(json.loads(path.read_text())["edges"]) == 4
    assert run(database, "--graph", "-").output.startswith("relation,source,target,")
    assert json.loads(run(database, "--graph", "-", "--json").output)["schema"] == 1


def test_what_cannot_be_curated_is_refused(database: Database, tmp_path: Path) -> None:
    empty = run(database)
    assert isinstance(empty.exception, NothingToMeasure)  # `main` makes of it a line and exit code 2
    some(database)
    for options in (
        ("--json", "--markdown"),
        ("--ratio", "0.5"),
        ("--class", "nonsense"),
        ("--inventory-id", "x"),
        ("--inventory-id", "x", "--inventory-query", "SELECT 1"),
        ("--inventory-dsn", "nohost"),
        ("--inventory-dsn", "nohost", "--inventory", "a"),
        ("--inventory", "a", "--inventory-query", "SELECT 1"),
    ):
        assert run(database, *options).exit_code == 2
    assert (
        "Invalid value for '--class': 'foo' is not one of 'not_useful',"
        in run(database, "--class", "foo").output
    )
    refused = run(database, "--inventory-query", "SELECT secret FROM nowhere")
    assert isinstance(refused.exception, ConfigError)
    assert str(refused.exception) == "the inventory query was refused (UndefinedTable)"
    assert isinstance(run(database, "--graph", str(tmp_path / "no" / "x.csv")).exception, ConfigError)


def test_without_numpy_it_says_what_to_install(database: Database) -> None:
    hidden = (
        "import sys; from importlib.abc import MetaPathFinder\n"
        "class Hide(MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hide()); from ragledger.cli.app import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden, "curate", "--dsn", database.dsn], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (
        2,
        "ragledger: ragledger curate needs: pip install 'ragledger[analysis]'\n",
    )
