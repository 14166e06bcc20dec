"""A golden set from files: JSONL, CSV, TREC."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragledger.analyses.golden_import import About, ids_of, imported, question_texts
from ragledger.errors import UnusableJudgments
from ragledger.measures.golden_set import GoldenSet

ABOUT = About("set", "document", "handbook")

JSONL = """\
{"id": "r", "text": "refunds?", "judgments": {"d1": 3, "d2": 0}}

{"text": "postage?", "judgments": {"d3": "1"}}
"""
CSV = """\
question,id,grade
refunds?,d1,3
refunds?,d2,0
"postage, abroad?",d3,1
"""
QRELS = "301 0 d1 4\n301 0 d2 -1\n302 Q0 d3 1\n"
TOPICS = """\
<top>
<num> Number: 301
<title> refunds?

<desc> Description: more
</top>
<top>
<num> Number: 302
<title> postage
abroad?
</top>
"""


def made(tmp_path: Path, name: str, content: str, topics: str | None = None, **grades: int) -> GoldenSet:
    (tmp_path / name).write_text(content, "utf-8")
    other = tmp_path / "topics"
    if topics is not None:
        other.write_text(topics, "utf-8")
    given = {name.replace("_", "-"): grade for name, grade in grades.items()}
    return imported(tmp_path / name, other if topics is not None else None, ABOUT, given)


def grades(golden: GoldenSet) -> dict[str, tuple[str, dict[str, int]]]:
    return {question.id: (question.text, question.grades()) for question in golden.questions}


def test_jsonl(tmp_path: Path) -> None:
    golden = made(tmp_path, "g.jsonl", JSONL)
    assert grades(golden) == {"r": ("refunds?", {"d1": 3, "d2": 0}), "q3": ("postage?", {"d3": 1})}
    assert (golden.name, golden.unit, golden.corpus) == ("set", "document", "handbook")
    assert golden.provenance == {"from": "files", "files": ["g.jsonl"]}


def test_csv(tmp_path: Path) -> None:
    golden = made(tmp_path, "g.csv", CSV)
    assert grades(golden) == {
        "q1": ("refunds?", {"d1": 3, "d2": 0}),
        "q2": ("postage, abroad?", {"d3": 1}),
    }


@pytest.mark.parametrize("topics", [TOPICS, "301\trefunds?\n302\tpostage abroad?\n"])
def test_trec_with_the_grades_said(tmp_path: Path, topics: str) -> None:
    golden = made(tmp_path, "qrels.txt", QRELS, topics, **{"4": 3, "_1": 0})
    assert grades(golden) == {
        "301": ("refunds?", {"d1": 3, "d2": 0}),
        "302": ("postage abroad?", {"d3": 1}),
    }


@pytest.mark.parametrize(
    ("name", "content", "topics", "why"),
    [
        ("g.jsonl", '{"text": "x"}', None, "line 1"),
        ("g.jsonl", '{"text": "x", "judgments": {"a": 4}}', None, "line 1: a grade is 0 to 3, not '4'"),
        ("g.jsonl", '{"text": "", "judgments": {"a": 1}}', None, "question 'q1' has no text"),
        ("g.csv", "question,grade\nx,1\n", None, "no column id"),
        ("g.csv", "question,id,grade\nx,a,1\nx,a,2\n", None, "line 3: 'a' was judged before"),
        ("g.csv", "question_id,question,id,grade\nq,x,a,1\nq,y,b,2\n", None, "two different texts"),
        ("g.txt", "", None, ".jsonl or .csv"),
        ("qrels", "301 0 d1\n", "301\tx\n", "line 1: not"),
        ("qrels", "303 0 d1 1\n", "301\tx\n", "no topic '303'"),
        ("qrels", QRELS, TOPICS, "line 1: a grade is 0 to 3, not '4'; say what it is here: --grade 4=0"),
        ("qrels", QRELS, "301\n", "topics are"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, name: str, content: str, topics: str | None, why: str
) -> None:
    with pytest.raises(UnusableJudgments) as refused:
        made(tmp_path, name, content, topics)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.txt", "one?\n\n two? \n"),
        ("q.jsonl", '{"text": "one?"}\n{"text": "two?", "id": 7}\n'),
        ("q.csv", "id,question\n1,one?\n2,two?\n"),
    ],
)
def test_texts_of_questions_come_in_three_forms(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    assert question_texts(tmp_path / name) == ["one?", "two?"]


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnusableJudgments, match="FileNotFoundError"):
        ids_of(tmp_path / "none")
    (tmp_path / "ids").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnusableJudgments, match="not UTF-8"):
        ids_of(tmp_path / "ids")


def test_from_the_command_line(tmp_path: Path, cli: Callable[..., Any]) -> None:
    (tmp_path / "judged.csv").write_text(CSV, "utf-8")
    (tmp_path / "qrels").write_text(QRELS, "utf-8")
    (tmp_path / "topics").write_text(TOPICS, "utf-8")
    ran = cli("golden", "build", "g.json", "--from", "judged.csv", "--json")
    built = json.loads(ran.out)
    assert (ran.code, built["questions"], built["judgments"]) == (0, 2, 3)
    trec = ("golden", "build", "t.json", "--from", "qrels", "--topics", "topics")
    refused = cli(*trec)
    assert (refused.code, "--grade 4=0" in refused.err) == (2, True)
    assert cli(*trec, "--grade", "4=3", "--grade=-1=0").code == 0
    assert cli(*trec, "--grade", "4=9", "--replace").code == 2


FROM_FILE = ("--from", "judged.csv")
FROM_VOTES = ("--questions", "asked.txt")


@pytest.mark.parametrize(
    ("made_from", "options"),
    [
        (FROM_FILE, ("--since", "90d")),
        (FROM_FILE, ("--until", "2026-01-01")),
        (FROM_FILE, ("--voter", "human")),
        (FROM_FILE, ("--min-votes", "5")),
        (FROM_FILE, ("--min-agreement", "0.9")),
        (FROM_FILE, ("--useful-from", "relevant")),
        (FROM_FILE, ("--project", "p")),
        (FROM_FILE, ("--surface", "s")),
        (FROM_FILE, ("--schema", "s")),
        (FROM_FILE, ("--dsn", "postgresql://nowhere/x")),
        (FROM_FILE, ("--since", "3d", "--voter", "human", "--min-votes", "5")),
        (FROM_VOTES, ("--grade", "4=3")),
        (FROM_VOTES, ("--topics", "topics")),
    ],
)
def test_an_option_that_would_mean_nothing_is_refused(
    tmp_path: Path, cli: Callable[..., Any], made_from: tuple[str, str], options: tuple[str, ...]
) -> None:
    (tmp_path / "judged.csv").write_text(CSV, "utf-8")
    (tmp_path / "asked.txt").write_text("one?\n", "utf-8")
    ran = cli("golden", "build", "g.json", *made_from, *options)
    assert (ran.code, ran.out, (tmp_path / "g.json").exists()) == (2, "", False)
    assert "without a meaning for a set from" in ran.err
    assert all(option in ran.err for option in options if option.startswith("--"))
    assert cli("golden", "build", "g.json", *FROM_FILE, "--corpus", "c", "--name", "n").code == 0
