"""`make eval`: the README says what the reports say, and the demo's part of them comes out again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database

from ragledger.demo import cranfield
from ragledger.demo.evaluation import cranfield_report, demo_report, main, written
from ragledger.demo.relevance_block import replaced

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports"
README = (ROOT / "README.md").read_text("utf-8")
PINNED = (3, 11)
WAYS = [None, "langchain", "llama_index", None, None]


def committed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((REPORTS / f"{name}.json").read_text("utf-8"))
    return found


def test_the_readme_says_what_the_committed_reports_say() -> None:
    assert replaced(README, committed("demo"), committed("cranfield")) == README


def test_the_check_fails_when_they_differ(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(README, "utf-8")
    check = ["--check", "--reports", str(REPORTS), "--readme", str(readme)]
    assert main(check) == 0
    readme.write_text(README.replace("of 98 |", "of 99 |", 1), "utf-8")
    assert main(check) == 1
    readme.write_text(README.replace("<!-- /relevance -->", ""), "utf-8")
    with pytest.raises(ValueError, match="0 times"):
        main(check)


@pytest.mark.parametrize("name", ["demo", "cranfield"])
def test_a_report_is_written_in_one_way_and_holds_neither_time_nor_host(name: str) -> None:
    text = (REPORTS / f"{name}.json").read_text("utf-8")
    assert written(committed(name)) == text
    assert set(committed(name)) == {"schema", "corpus", "embedding_model", "runs", "made_with"}
    assert set(committed(name)["made_with"]) == {"python", "ir-measures", "pytrec-eval-terrier", "wordllama"}


@pytest.mark.parametrize("name", ["demo", "cranfield"])
def test_p12_every_number_of_a_report_has_its_n_and_its_interval(name: str) -> None:
    for run in committed(name)["runs"]:
        for name, value in run["measures"].items():
            if (name, value["value"]) == ("Judged@10", 1.0):  # every passage is judged, so nothing varies
                assert (value["low"], value["high"]) == (None, None)
            else:
                assert value["low"] <= value["value"] <= value["high"]
                assert value["low"] < value["high"]
            assert 0 < value["n"] <= run["asked"]


def test_cranfield_was_all_of_it() -> None:
    corpus, runs = committed("cranfield")["corpus"], committed("cranfield")["runs"]
    assert (corpus["passages"], corpus["questions"], corpus["judgments"]) == (1398, 225, 1837)
    assert corpus["by_grade"] == {"0": 225, "1": 363, "2": 1121, "3": 128}
    assert [run["settings"]["vector"] for run in runs] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.mark.pg
@pytest.mark.skipif(sys.version_info[:2] != PINNED, reason="the language reference is that of Python 3.11")
def test_the_demo_comes_out_again_through_both_frameworks_with_a_row_for_each_question(
    database: Database,
) -> None:
    """One test: the demo is indexed and asked once."""
    found, expected = demo_report(database.dsn), committed("demo")
    runs = found["runs"]
    assert [run["by"] for run in runs] == WAYS
    direct, *framed = ({**run, "by": None, "recorded": None} for run in runs[:3])
    assert framed == [direct, direct]
    votes = runs[1]["recorded"]["votes"]  # every passage is judged
    assert [run["recorded"] for run in runs if run["by"]] == [{"searches": 104, "votes": votes}] * 2
    assert database.value("SELECT count(*) FROM hits WHERE admitted") == 2 * votes > 1000
    counted = "SELECT framework, surface, actor_kind, count(*) FROM searches WHERE depth = 0 GROUP BY 1, 2, 3 ORDER BY 1"
    assert database.rows(counted) == [
        ("langchain", "golden", "system", 104),
        ("llama_index", "golden", "system", 104),
    ]
    incomplete = "SELECT count(*) FROM hits WHERE vector_score IS NULL OR lexical_score IS NULL"
    assert database.value(incomplete) == 0
    assert database.rows("SELECT actor_kind, count(*) FROM current_votes GROUP BY 1") == [
        ("judge", 2 * votes)
    ]
    if found["corpus"]["sha256"] != expected["corpus"]["sha256"]:
        pytest.skip("the language reference of this Python 3.11 is worded otherwise")
    assert found["runs"] == expected["runs"]
    assert found["corpus"] == expected["corpus"]


@pytest.mark.pg
def test_cranfield_is_asked_at_every_weight(make_database: Callable[[], Database], tmp_path: Path) -> None:
    documents = {"1": "wings in a slipstream", "2": "heat conduction in slabs", "3": "boundary layers"}
    entries = "".join(f".I {number}\n.T\nx\n.W\n{text}\n" for number, text in documents.items())
    contents = (entries, ".I 001\n.W\nwings\n.I 004\n.W\nheat in slabs\n", "1 1 1\n2 2 2\n2 3 -1\n")
    for name, content in zip(cranfield.FILES, contents, strict=True):
        (tmp_path / name).write_text(content, "ascii")
    database = make_database()
    report = cranfield_report(database.dsn, tmp_path)
    assert [run["measures"]["RR"] for run in report["runs"]] == [
        {"value": 1.0, "n": 2, "low": None, "high": None}
    ] * 6
    assert report["corpus"]["by_grade"] == {"0": 1, "1": 0, "2": 1, "3": 1}
    assert database.rows("SELECT DISTINCT corpus FROM inventory") == [("cranfield",)]
