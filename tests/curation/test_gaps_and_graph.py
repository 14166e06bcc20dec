"""Questions that find nothing, without their text; and the graph of questions, documents and outcomes."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from curation.scene import curated, doc, shown, store
from fix_pg import Database
from measures.table_rows import TableRows, minutes, padding

from ragledger.analyses.graph import write_csv, write_json, written
from ragledger.errors import ConfigError

pytestmark = pytest.mark.pg


def asked(name: str) -> dict[str, Any]:
    return {"query_key": name.encode().ljust(16, b"-")}


def test_a_question_is_a_gap_by_what_became_of_its_searches(database: Database) -> None:
    rows = TableRows()
    for surface in ("study", None, "study"):
        rows.search(surface=surface, **asked("empty"), started_at=minutes(9), epoch="e2")
    rows.search(padding("a"), padding("b"), **asked("padded"))
    rows.search(doc("a", admitted=False), admitted_count=None, **asked("untold"))
    for number, outcome in enumerate(("not_relevant", "partially_relevant")):
        rows.vote(
            rows.search(doc("a"), **asked("useless"), started_at=minutes(number)), 1, outcome, by="agent"
        )
    for outcome in ("not_relevant", "relevant"):
        rows.vote(rows.search(doc("a"), **asked("mixed")), 1, outcome)
    rows.search(doc("a"), **asked("plain"))
    rows.search(doc("a"))
    store(rows, database)

    gaps = shown(database)["gaps"]
    assert [one["gaps"] for one in gaps["listed"]] == [3, 2, 1]
    found = {
        bytes.fromhex(one["query_key"]).rstrip(b"-").decode(): {k: n for k, n in one["outcomes"].items() if n}
        for one in gaps["listed"]
    }
    assert found == {"empty": {"empty": 3}, "useless": {"nothing_useful": 2}, "padded": {"only_padding": 1}}
    assert (gaps["measured"], gaps["questions"], gaps["gaps"], gaps["searches_with_key"]) == (True, 6, 3, 10)
    assert "10 of 11 searches" in gaps["note"]
    worst = gaps["listed"][0]
    assert (worst["surfaces"], worst["corpora"], worst["epochs"], worst["voters"]) == (
        ["study", None],
        ["handbook"],
        ["e2"],
        [],
    )
    assert worst["last_seen"].startswith("2026-03-01T09:09")
    assert next(one for one in gaps["listed"] if one["gaps"] == 2)["voters"] == ["agent"]


@pytest.mark.parametrize(
    ("kind", "worst", "many", "listed"),
    [
        ("fused", 0.1, 20, 1),
        ("distance", 9.9, 20, 1),  # of distances the largest is the worst
        ("distance", 0.1, 20, 0),
        ("none", 0.1, 20, 0),  # nobody knows which is better
        ("fused", 0.1, 18, 0),  # too few to call any of them low
        ("fused", 0.5, 20, 0),  # as good as the others
    ],
)
def test_a_low_best_score_is_one_of_the_lowest_of_its_epoch(
    database: Database, kind: str, worst: float, many: int, listed: int
) -> None:
    rows = TableRows()
    for _ in range(many):
        rows.search(doc("a", score_kind=kind), top_admitted_score=0.5, **asked("usual"))
        rows.search(doc("a"), top_admitted_score=100.0, epoch="other", **asked("usual"))
    rows.search(doc("a", score_kind=kind), top_admitted_score=worst, **asked("low"))
    store(rows, database)
    assert [one["outcomes"]["low_score"] for one in shown(database)["gaps"]["listed"]] == [1] * listed


def a_graph() -> TableRows:
    rows = TableRows()
    one = rows.search(doc("a"), doc("b"), doc("unseen", admitted=False), **asked("q"))
    two = rows.search(doc("b"), doc("a"), **asked("q"))
    alone = rows.search(doc("a"))
    rows.opened(one, 1)
    rows.vote(one, 1, "relevant")
    rows.vote(one, 1, "relevant", by="human:ben")
    rows.vote(two, 2, "relevant", by="agent:7")
    rows.vote(alone, 1, "not_relevant")
    return rows


def test_the_graph_leads_from_questions_to_outcomes(database: Database) -> None:
    made = a_graph()
    unkeyed = made.rows["searches"][-1]["search_id"]
    store(made, database)
    file = io.StringIO()
    write_csv(curated(database, ids=True), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    question, alone = "question:" + asked("q")["query_key"].hex(), f"search:{unkeyed}"
    shown_edges = {
        (r["source"], r["target"]): (r["searches"], r["accessed"], r["best_rank"])
        for r in rows
        if r["relation"] == "shown"
    }
    assert shown_edges == {
        (question, "document:handbook/a"): ("2", "1", "1"),
        (question, "document:handbook/b"): ("2", "0", "1"),
        (alone, "document:handbook/a"): ("1", "0", "1"),
    }
    judged = [
        (r["question"][:8], r["source"], r["target"], r["voter"], r["votes"], r["searches"])
        for r in rows
        if r["relation"] == "judged"
    ]
    assert sorted(judged) == [
        ("question", "document:handbook/a", "outcome:relevant", "agent", "1", "1"),
        ("question", "document:handbook/a", "outcome:relevant", "human", "2", "1"),
        ("search:0", "document:handbook/a", "outcome:not_relevant", "human", "1", "1"),
    ]


def test_the_json_graph_has_every_end_as_a_node_and_the_class_of_a_document(database: Database) -> None:
    store(a_graph(), database)
    file = io.StringIO()
    write_json(curated(database, ids=True), file)
    graph = json.loads(file.getvalue())
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert {end for edge in graph["edges"] for end in (edge["source"], edge["target"])} <= set(nodes)
    assert {node["type"] for node in graph["nodes"]} == {"question", "search", "document", "outcome"}
    assert nodes["document:handbook/a"]["class"] == "few_votes"
    assert "document:handbook/unseen" in nodes
    assert len(nodes) == len(graph["nodes"])


def test_a_graph_is_written_whole_and_private_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text("old")
    path.chmod(0o644)

    def fails(file: Any) -> None:
        file.write("half")
        raise OSError(28, "no space")

    with pytest.raises(ConfigError):
        written(path, fails)
    assert path.read_text() == "old"
    written(path, lambda file: file.write("new") and None)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ConfigError):
        written(tmp_path / "nowhere" / "graph.csv", fails)


def test_no_documents_shown_is_an_empty_graph(database: Database) -> None:
    rows = TableRows()
    rows.search(doc("a", admitted=False))
    store(rows, database)
    file = io.StringIO()
    write_json(curated(database, ids=True), file)
    assert json.loads(file.getvalue())["edges"] == []
