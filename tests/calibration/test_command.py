"""`ragledger calibrate` on a real Postgres, from rows to the words it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from calibration.voted_table import SIGNALS, declared, store
from fix_pg import Database
from measures.table_rows import TableRows, hit, minutes

from ragledger.measures.evidence import SearchFact
from ragledger.measures.report import Window
from ragledger.scoped import ScopeReader

pytestmark = pytest.mark.pg

Run = Callable[..., Any]
BARE = {"vector_score": None, "lexical_score": None}


def said(run: Run, database: Database, *arguments: str) -> dict[str, Any]:
    found = run(database, "calibrate", "--since", "all", "--json", *arguments)
    assert found.returncode == 0, found.stderr
    return dict(json.loads(found.stdout))


def test_better_weights_are_recommended_and_ready_to_paste(
    database: Database, run: Run, tmp_path: Path
) -> None:
    store(database)
    picture = tmp_path / "weights.svg"
    found = run(database, "calibrate", "--since", "all", "--plot", str(picture))
    assert found.returncode == 0
    lines = found.stdout.splitlines()
    assert lines[0].startswith("Change the weights to vector 0.")
    assert lines[-1].startswith('WEIGHTS = {"vector": 0.')
    settings = json.loads(lines[-1].removeprefix("WEIGHTS = "))
    assert settings["vector"] == pytest.approx(0.4, abs=0.15)
    assert settings["vector"] + settings["lexical"] == pytest.approx(1.0)
    carried_over = said(run, database)["threshold"]["same_number"]
    assert settings["threshold"] == round(carried_over, 4) != 0.2
    assert picture.read_text("utf-8").startswith("<?xml")


def test_the_json_says_everything_with_what_it_rests_on(database: Database, run: Run) -> None:
    store(database)
    found = said(run, database, "--until", "2027-01-01")
    assert found["verdict"] == "recommend"
    assert found["running"] == {"vector": 0.95, "lexical": pytest.approx(0.05)}
    assert found["used"] == {
        "searches": 120, "hits": 360, "pairs": 240, "questions": 120, "votes": 360, "actors": 5, "unkeyed": 0
    }  # fmt: skip
    assert found["pairs"] == {"found": 240, "missing_leg": 0, "imputed": 0, "split_hits": 0}
    assert sum(found["excluded"].values()) == 0
    assert found["flat"]["vector"]["low"] <= found["estimate"]["vector"] <= found["flat"]["vector"]["high"]
    assert found["gain"]["low"] > 0
    assert found["threshold"]["searches"] == 120
    assert found["threshold"]["running_candidates"] <= 3.0
    assert found["top_k"]["suggested"] == 3
    assert found["epochs"] == ["e1"]
    assert len(found["profiles"][0]["points"]) == 51
    assert said(run, database, "--until", "2027-01-01") == found


def test_a_weight_that_is_good_is_kept_with_exit_code_0(database: Database, run: Run) -> None:
    store(database, logged=0.4)
    found = said(run, database)
    assert found["verdict"] in {"keep", "collect"}
    assert found["settings"] is None
    assert (found["needed"] is None) == (found["verdict"] == "keep")


def test_without_query_keys_no_change_is_recommended_however_good_it_looks(
    database: Database, run: Run
) -> None:
    store(database, searches=60, copies=2, keyed=False)
    found = said(run, database)
    assert (found["used"]["searches"], found["used"]["questions"], found["used"]["unkeyed"]) == (120, 60, 120)
    assert found["gain"]["low"] > 0
    assert (found["verdict"], found["settings"], found["needed"]) == ("collect", None, None)
    assert ["switch query_keys on" in line for line in found["missing"]] == [True]
    first = run(database, "calibrate", "--since", "all").stdout.splitlines()[0]
    assert first.startswith("Keep the weights for now: ")
    assert "switch query_keys on" in " ".join(run(database, "calibrate", "--since", "all").stdout.split())


@pytest.mark.parametrize(
    ("hits", "questions"),
    [
        ([{**BARE, "score": 0.5}, {**BARE, "score": 0.50001}, {**BARE, "score": 0.6}], 2),
        ([{"vector_score": 0.5, "score": 0.5}, {"vector_score": 0.50001, "score": 0.9}], 1),
        ([{"signals": {"bm25": {"score": 3.0, "rank": 1}}}, {"signals": {"bm25": {"score": 4.0}}}], 2),
        ([{"signals": {"bm25": {"rank": 1}}}, {"signals": {"bm25": {"rank": 2}}}], 1),
        ([{"chunk_id": "a"}, {"chunk_id": "b"}, {"chunk_id": None}], 3),
    ],
    ids=["score alone", "other weights", "signals", "ranks", "ids"],
)
def test_searches_that_found_the_same_are_told_by_ids_and_scores_of_signals(
    database: Database, hits: list[dict[str, Any]], questions: int
) -> None:
    rows = TableRows()
    for given in hits:
        rows.vote(rows.search(hit(**{"chunk_id": "c", "score": 0.1, **given})), 1, "relevant")
    with database.connect() as connection:
        rows.insert(connection)
        reader = ScopeReader(connection, Window(), "relevant")
        found = reader.all("calibrate", "searches", SearchFact, voter="human")
    assert len({search.candidates for search in found}) == questions


def test_no_vote_of_a_kind_is_said_before_anything_else(database: Database, run: Run) -> None:
    store(database)
    found = run(database, "calibrate", "--since", "all", "--voter", "agent")
    words = "no votes of kind agent in this window; 200 pairs are needed"
    assert (found.returncode, found.stderr) == (2, f"ragledger: refused: {words}\n")
    assert found.stdout.startswith(f"Refused: {words}.")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"searches": 30},
            "200 pairs of a useful and a not useful hit judged by a human are needed, there are 60",
        ),
        ({"lexical": False}, "in 240 of 240 pairs a hit was not scored by every signal"),
        (
            {"weights": {"effective": {"mode": "rrf"}, "source": "extracted"}},
            "no weight of a logged signal is effective",
        ),
        ({"degraded": True}, "100 searches with such a pair are needed, there are 0"),
    ],
    ids=["too few", "missing signals", "not effective", "degraded"],
)
def test_what_cannot_carry_an_answer_is_refused_with_what_is_missing(
    database: Database, run: Run, given: dict[str, Any], words: str
) -> None:
    store(database, **given)
    found = run(database, "calibrate", "--since", "all", "--json")
    assert found.returncode == 2
    assert words in found.stderr
    counted = json.loads(found.stdout)
    assert (counted["verdict"], counted["estimate"], counted["settings"]) == ("refused", None, None)
    assert any(words in line for line in counted["missing"])
    assert run(database, "calibrate", "--since", "all").stdout.startswith("Refused: ")


def test_missing_signals_count_as_zero_only_on_request_and_with_a_warning(
    database: Database, run: Run
) -> None:
    store(database, lexical=False)
    found = said(run, database, "--impute-zero")
    assert (found["pairs"]["missing_leg"], found["pairs"]["imputed"]) == (0, 240)
    assert found["used"]["pairs"] == 240
    assert any(line.startswith("WARNING: in 240 of 240 pairs") for line in found["notes"])


def test_kinds_of_voters_are_never_pooled(database: Database, run: Run) -> None:
    store(database, searches=110)
    store_more(database, voters="judge")
    found = said(run, database)
    assert found["voter"] == "human"
    assert found["used"]["votes"] == 330
    assert any("judge (3 hits) are not pooled" in line for line in found["notes"])
    assert run(database, "calibrate", "--since", "all", "--voter", "judge").returncode == 2


def store_more(database: Database, *, voters: str) -> None:
    rows = TableRows()
    search = rows.search(
        *(hit(f"x{n}") for n in range(3)),
        search_id=UUID(int=10**9),
        weights=declared(0.95),
        signals=SIGNALS,
        index_version="v1",
        started_at=minutes(-5),
    )
    for rank in (1, 2, 3):
        rows.vote(search, rank, "relevant", f"{voters}:set")
    with database.connect() as connection:
        for number, row in enumerate(rows.rows["feedback"]):
            row["feedback_id"] = UUID(int=10**9 + number)
        rows.insert(connection)


def test_one_judge_is_enough_for_a_judged_set(database: Database, run: Run) -> None:
    store(database, voters="judge")
    assert said(run, database, "--voter", "judge")["minimum"]["actors"] == 1


def test_ranks_are_fused_where_ranks_run(database: Database, run: Run) -> None:
    store(database, weights=declared(0.95, fusion="rrf", rrf_k=2))
    found = said(run, database)
    assert (found["fusion"]["kind"], found["fusion"]["constant"]) == ("reciprocal_rank", 2.0)
    assert found["threshold"] is None
    assert any("The threshold of 0.2 was not tuned" in line for line in found["notes"])
    assert found["used"]["pairs"] == 240


def test_another_index_is_left_out_and_counted(database: Database, run: Run) -> None:
    store(database, index_version="v0")
    rows = TableRows()
    rows.search(
        search_id=UUID(int=10**9), index_version="v1", epoch="e2", weights=declared(0.5),
        started_at=minutes(10_000),
    )  # fmt: skip
    with database.connect() as connection:
        rows.insert(connection)
    found = run(database, "calibrate", "--since", "all", "--json")
    assert found.returncode == 2
    assert json.loads(found.stdout)["excluded"]["other_index"] == 120


def newest(database: Database, **given: Any) -> None:
    """A search after all the others that nobody voted on."""
    said = {
        "epoch": "e2",
        "index_version": "v1",
        "signals": SIGNALS,
        "top_k": 5,
        "started_at": minutes(10_000),
    }
    rows = TableRows()
    rows.search(hit("a", vector_score=0.5, lexical_score=0.5), search_id=UUID(int=10**9), **{**said, **given})
    with database.connect() as connection:
        rows.insert(connection)


def test_the_gain_is_over_the_weights_of_the_newest_search_that_nobody_voted_on(
    database: Database, run: Run
) -> None:
    """Votes were given under 0.95, far from the best 0.4; since then 0.4 runs, and there is nothing to gain."""
    store(database)
    before = said(run, database)
    assert (before["verdict"], before["epoch"], before["searches_of_epoch"]) == ("recommend", "e1", 120)
    assert before["notes"] == []

    newest(database, weights=declared(0.4))
    after = said(run, database)
    assert after["running"] == pytest.approx({"vector": 0.4, "lexical": 0.6})
    assert (after["epoch"], after["searches"], after["searches_of_epoch"]) == ("e2", 120, 0)
    assert after["verdict"] in {"keep", "collect"}
    assert after["gain"]["value"] < before["gain"]["value"]
    assert after["estimate"] == pytest.approx(before["estimate"], abs=0.02)
    assert after["notes"][0].startswith("Nobody has voted under the weights that run now (epoch e2)")
    assert after["top_k"]["running"] == 5


@pytest.mark.parametrize(
    "given",
    [
        {"degraded": True, "degraded_reason": "embedding_unavailable"},
        {"status": "error", "error_type": "Timeout", "error_origin": "infra", "admitted_count": None},
        {"status": "cancelled", "admitted_count": None},
    ],
    ids=["degraded", "error", "cancelled"],
)
def test_a_newest_search_that_fell_back_or_failed_is_not_what_runs(
    database: Database, run: Run, given: dict[str, Any]
) -> None:
    store(database)
    effective = {"lexical": 1.0}
    newest(
        database,
        weights={"configured": effective, "effective": effective, "source": "declared", "unknown": []},
        **given,
    )
    found = said(run, database)
    assert (found["verdict"], found["epoch"]) == ("recommend", "e1")
    assert found["running"] == pytest.approx({"vector": 0.95, "lexical": 0.05})


def test_a_signal_that_weighs_now_and_was_never_voted_on_is_named_and_no_weight_is_dropped(
    database: Database, run: Run
) -> None:
    store(database)
    settings = {"vector": 0.4, "lexical": 0.3, "title": 0.3}
    newest(
        database,
        weights={"configured": settings, "effective": settings, "source": "declared", "unknown": []},
        signals={**SIGNALS, "title": SIGNALS["vector"]},
    )
    done = run(database, "calibrate", "--since", "all", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 2
    assert found["fusion"]["names"] == ["vector", "lexical", "title"]
    assert "no search that was voted on has a score of title, which weighs now" in found["missing"]


def test_another_corpus_that_runs_other_weights_is_warned_of(database: Database, run: Run) -> None:
    store(database)
    newest(database, weights=declared(0.4), corpus="wiki")
    notes = " ".join(said(run, database)["notes"])
    assert "other weights run for corpus handbook of project default; the gain is over" in notes
    assert "WARNING" not in " ".join(said(run, database, "--corpus", "handbook")["notes"])


def test_an_empty_window_and_a_wrong_file_are_said_plainly(database: Database, run: Run) -> None:
    found = run(database, "calibrate", "--since", "all")
    assert (found.returncode, found.stderr) == (
        2,
        "ragledger: nothing to calibrate: no search that ran; the table holds no search\n",
    )
    assert run(database, "calibrate", "--plot", "weights.pdf").returncode == 2


def test_without_the_extra_one_line_says_which() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None; sys.argv = ['ragledger', 'calibrate', '--dsn', 'postgresql://h/d']\n"
        "from ragledger.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2, "ragledger: calibrate needs numpy: pip install 'ragledger[analysis]'\n"
    )  # fmt: skip
