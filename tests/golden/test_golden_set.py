"""A golden set is frozen: it can be laid out anew, and changed in nothing without being refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golden.world import QUICK
from hypothesis import given
from hypothesis import strategies as st

from ragledger.analyses.golden_files import load, save
from ragledger.errors import UnusableJudgments
from ragledger.measures.golden_set import GRADES, GoldenSet, Judgment, Question, content_hash, outcome_of

MakeSet = Callable[..., GoldenSet]


def test_what_was_frozen_is_read_back_with_its_hash(make_set: MakeSet, tmp_path: Path) -> None:
    golden = make_set(q={"a": 3, "b": 0})
    digest = save(golden, tmp_path / "g.json")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest)
    assert load(tmp_path / "g.json") == (golden, digest)


def test_the_hash_is_the_same_on_every_machine(make_set: MakeSet) -> None:
    assert content_hash(make_set(q={"a": 3})) == (
        "sha256:30e7a533532f90782c246aec070c24ebefa8718ab61aee21b9872f08091620e6"
    )


def test_another_layout_is_the_same_set(make_set: MakeSet, tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    save(make_set(q={"a": 3}), path)
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(dict(reversed(document.items())), indent=8), "utf-8")
    assert load(path)[0] == make_set(q={"a": 3})


def _changed(change: str) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        question = document["questions"][0]
        if change == "grade":
            question["judgments"][0]["grade"] = 2
        elif change == "text":
            question["text"] += " "
        elif change == "provenance":
            document["provenance"]["votes"] = 12
        elif change == "question":
            del document["questions"][0]
        elif change == "hash":
            del document["content_hash"]

    return apply


@pytest.mark.parametrize("change", ["grade", "text", "provenance", "question", "hash"])
def test_a_changed_file_is_refused_with_a_clear_line(make_set: MakeSet, tmp_path: Path, change: str) -> None:
    path = tmp_path / "g.json"
    save(make_set(q={"a": 3}, r={"b": 1}), path)
    document = json.loads(path.read_text("utf-8"))
    _changed(change)(document)
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(UnusableJudgments, match="was changed after it was frozen"):
        load(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "not JSON"),
        ("[]", "no golden set"),
        ('{"format": "ragledger-golden/9"}', "no golden set"),
        ('{"name": "x", "unit": "chunk", "questions": [{"id": "q", "text": "?", "judgments": [{"id": "a", "grade": 4}]}]}', "grade"),
    ],
)  # fmt: skip
def test_what_is_no_golden_set_is_refused(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "g.json").write_text(content, "utf-8")
    with pytest.raises(UnusableJudgments, match=why):
        load(tmp_path / "g.json")


def test_a_frozen_file_is_not_written_over(make_set: MakeSet, tmp_path: Path) -> None:
    save(make_set(q={"a": 3}), tmp_path / "g.json")
    with pytest.raises(UnusableJudgments, match="exists"):
        save(make_set(q={"a": 1}), tmp_path / "g.json")
    save(make_set(q={"a": 1}), tmp_path / "g.json", replace=True)
    assert load(tmp_path / "g.json")[0] == make_set(q={"a": 1})


def test_an_id_is_there_once() -> None:
    judged = (Judgment(id="a", grade=1), Judgment(id="a", grade=2))
    with pytest.raises(ValueError, match="judges 'a' twice"):
        GoldenSet(name="s", unit="chunk", questions=(Question(id="q", text="?", judgments=judged),))
    with pytest.raises(ValueError, match="two questions have the id 'q'"):
        GoldenSet(name="s", unit="chunk", questions=(Question(id="q", text="?", judgments=()),) * 2)


def test_a_grade_and_an_outcome_say_the_same() -> None:
    assert [outcome_of(grade) for grade in GRADES.values()] == list(GRADES)
    assert list(GRADES.values()) == [0, 1, 2, 3]


@QUICK
@given(st.dictionaries(st.text(min_size=1), st.integers(0, 3), min_size=1, max_size=5), st.data())
def test_any_other_grade_is_another_hash(grades: dict[str, int], data: st.DataObject) -> None:
    def of(given: dict[str, int]) -> str:
        judged = tuple(Judgment(id=item, grade=grade) for item, grade in given.items())
        question = Question(id="q", text="?", judgments=judged)
        return content_hash(GoldenSet(name="s", unit="chunk", questions=(question,)))

    item = data.draw(st.sampled_from(sorted(grades)))
    assert of(grades) != of(grades | {item: (grades[item] + 1) % 4})
    assert of(grades) == of(msgspec.json.decode(msgspec.json.encode(grades)))
