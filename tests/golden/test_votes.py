"""A golden set from votes, and how far it has come from later ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database
from golden.world import EVER, asked, both

from ragledger import Ledger, schema
from ragledger.analyses.golden_drift import drift_of
from ragledger.analyses.golden_votes import Recipe, build, query_key
from ragledger.errors import ConfigError, NothingToMeasure
from ragledger.measures.agreement import Rule
from ragledger.measures.golden_set import GoldenSet

pytestmark = pytest.mark.pg

KEY = b"a key for the tests of golden sets"
Build = Callable[..., GoldenSet]


@pytest.fixture
def ledger(make_ledger: Callable[..., Ledger]) -> Ledger:
    return make_ledger(query_keys=True, key=KEY)


@pytest.fixture
def built(ledger: Ledger, database: Database) -> Build:
    def make(*texts: str, recipe: Recipe = Recipe(), window: Any = EVER) -> GoldenSet:  # noqa: B008
        assert ledger.flush(60)
        with database.connect() as connection:
            known = {query_key(text, KEY): text for text in texts} if texts else None
            return build(connection, window, recipe, name="set", texts=known, key=KEY)

    return make


def judged(golden: GoldenSet) -> dict[str, dict[str, int]]:
    return {question.text: question.grades() for question in golden.questions}


def test_what_two_people_agree_on_is_judged_and_the_rest_is_counted(ledger: Ledger, built: Build) -> None:
    asked(
        ledger,
        "How long do refunds take?",
        {
            "human:ana": {"a": "highly_relevant", "b": "not_relevant", "c": "relevant", "d": "relevant"},
            "human:ben": {"a": "relevant", "b": "not_relevant", "c": "not_relevant"},
            "agent:7": {"a": "not_relevant", "d": "relevant"},
        },
    )
    golden = built("how long do   REFUNDS take?")
    assert judged(golden) == {"how long do   REFUNDS take?": {"a": 2, "b": 0}}
    assert golden.provenance["left_out"] == {
        "hits_tie": 1,
        "hits_too_few_votes": 1,
        "questions_without_a_useful_hit": 0,
        "questions_without_text": 0,
        "votes_without_chunk_id": 0,
        "votes_without_query_key": 0,
    }
    assert golden.provenance["votes"] == 7
    assert [each.document for each in golden.questions[0].judgments] == ["doc-a", "doc-b"]


def test_votes_on_one_question_add_up_over_its_searches_and_the_latest_of_a_voter_wins(
    ledger: Ledger, built: Build
) -> None:
    asked(ledger, "When?", {"human:ana": {"a": "not_relevant", "b": "relevant"}})
    asked(ledger, "when?", {"human:ana": {"a": "relevant"}, "human:ben": {"b": "highly_relevant"}})
    asked(ledger, " WHEN? ", {"human:ben": {"a": "relevant"}})
    assert judged(built("When?")) == {"When?": {"a": 2, "b": 2}}


def test_kinds_of_voters_are_asked_for_and_a_voter_without_a_name_is_one(
    ledger: Ledger, built: Build
) -> None:
    asked(ledger, "Why?", {"agent:1": {"a": "relevant"}, "agent:2": {"a": "relevant"}})
    asked(ledger, "Why?", {"human": {"b": "relevant"}})
    asked(ledger, "Why?", {"human": {"b": "relevant"}})
    with pytest.raises(NothingToMeasure, match="2 votes: 1 hits too few votes"):
        built("Why?")
    assert judged(built("Why?", recipe=Recipe(voters=("agent",)))) == {"Why?": {"a": 2}}
    one = Recipe(voters=("human", "agent"), rule=Rule(min_votes=1))
    assert judged(built("Why?", recipe=one)) == {"Why?": {"a": 2, "b": 2}}


def test_of_a_document_a_voter_says_what_they_say_of_its_best_chunk(ledger: Ledger, built: Build) -> None:
    votes = {
        "human:ana": {"a": "relevant", "b": "not_relevant"},
        "human:ben": {"b": "highly_relevant", "c": "not_relevant"},
    }
    asked(ledger, "Who?", votes, a="d", b="d", c="e")
    assert judged(built("Who?", recipe=Recipe(unit="document"))) == {"Who?": {"d": 2}}


def test_a_question_without_text_or_without_a_useful_hit_is_left_out_and_counted(
    ledger: Ledger, built: Build
) -> None:
    asked(ledger, "known", both(a="relevant"))
    asked(ledger, "unknown", both(a="relevant"))
    asked(ledger, "useless", both(a="partially_relevant"))
    golden = built("known", "useless")
    assert list(judged(golden)) == ["known"]
    left_out = golden.provenance["left_out"]
    assert (left_out["questions_without_text"], left_out["questions_without_a_useful_hit"]) == (1, 1)


def test_under_another_key_no_text_is_known_and_that_is_said(ledger: Ledger, database: Database) -> None:
    asked(ledger, "known", both(a="relevant"))
    assert ledger.flush(60)
    other = b"an entirely other key"
    texts = {query_key("known", other): "known"}
    with database.connect() as connection, pytest.raises(NothingToMeasure, match="RAGLEDGER_KEY"):
        build(connection, EVER, Recipe(), name="set", texts=texts, key=other)


def test_p8_without_votes_or_keys_there_is_no_set_and_the_reason_is_said(
    ledger: Ledger, built: Build, make_ledger: Callable[..., Ledger]
) -> None:
    with pytest.raises(NothingToMeasure, match=r"nothing to build from: .*; the table holds no search$"):
        built("x")
    asked(ledger, "x", {})
    with pytest.raises(NothingToMeasure, match="no vote of these voters"):
        built("x")
    plain = make_ledger(name="plain", key=KEY)
    asked(plain, "x", both(a="relevant"))
    assert plain.flush(60)
    with pytest.raises(NothingToMeasure, match="2 votes: 2 votes without query key"):
        built("x")


def test_searches_of_a_golden_run_make_no_golden_set(ledger: Ledger, built: Build) -> None:
    asked(ledger, "x", both(a="relevant"), surface="golden")
    with pytest.raises(
        NothingToMeasure, match=r"no search outside of golden runs .* others in this window: 1"
    ):
        built("x")


def test_p9_texts_come_from_the_table_only_where_they_are_kept(
    ledger: Ledger, built: Build, make_ledger: Callable[..., Ledger], database: Database
) -> None:
    asked(ledger, "not kept", both(a="relevant"))
    with pytest.raises(ConfigError, match="no texts are kept"):
        built()
    with database.connect() as connection:
        schema.apply(connection, "ragledger", roles=True, with_text=True)
    with_text = make_ledger(name="texts", query_keys=True, key=KEY, store_text=True)
    asked(with_text, "is it kept?", both(a="relevant"))
    assert with_text.flush(60)
    assert judged(built()) == {"is it kept?": {"a": 2}}


# --- drift -------------------------------------------------------------------------------------------------


def drifted(database: Database, golden: GoldenSet, key: bytes = KEY, **given: Any) -> Any:
    with database.connect(role="ragledger_collector") as connection:
        return drift_of(connection, golden, EVER, Recipe(), key=key, **given)


@pytest.fixture
def old_set(ledger: Ledger, built: Build, database: Database) -> GoldenSet:
    """Two questions, judged; everything after it is later, because the table is emptied."""
    asked(ledger, "refunds", both(a="highly_relevant", b="not_relevant", c="relevant"))
    asked(ledger, "postage", both(d="relevant"))
    golden = built("refunds", "postage")
    database.rows("WITH gone AS (DELETE FROM feedback RETURNING 1) SELECT count(*) FROM gone")
    database.rows("WITH gone AS (DELETE FROM searches RETURNING 1) SELECT count(*) FROM gone")
    return golden


def test_later_votes_contradict_regrade_or_confirm(
    ledger: Ledger, old_set: GoldenSet, database: Database
) -> None:
    asked(ledger, "refunds", both(a="relevant", b="not_relevant", c="not_relevant", e="relevant"))
    asked(ledger, "new", both(a="relevant"))
    assert ledger.flush(60)
    found = drifted(database, old_set, ids={"a", "b", "c", "d"})
    [one] = found.contradicted
    assert (one.id, one.grade, one.now, one.votes, one.agreement) == ("c", 2, 0, 2, 1.0)
    assert (found.judged_again, found.regraded) == (3, 1)
    assert found.not_asked == (query_key("postage", KEY),)
    assert (found.questions, found.new, found.has_drifted) == (2, 1, True)


def test_what_left_the_corpus_has_vanished(ledger: Ledger, old_set: GoldenSet, database: Database) -> None:
    asked(ledger, "refunds", both(a="relevant"))
    assert ledger.flush(60)
    for there in (("a", "c", "b"), ("doc-a", "doc-b", "doc-c")):
        found = drifted(database, old_set, ids=set(there))
        assert found.vanished.ids == ("d",)
        assert found.vanished.of == 4
        assert found.vanished.questions_without_a_useful_one == (query_key("postage", KEY),)
    database.rows(
        "INSERT INTO inventory (corpus, document_id) SELECT 'handbook', 'doc-' || each"
        " FROM unnest(%s::text[]) AS each RETURNING 1",
        ["a", "b", "c", "d"],
    )
    whole = GoldenSet(
        name="s", unit="chunk", corpus="handbook", questions=old_set.questions, provenance=old_set.provenance
    )
    found = drifted(database, whole)
    assert (found.vanished.ids, found.has_drifted) == ((), False)


def test_p8_what_cannot_be_compared_is_null_with_the_reason(
    ledger: Ledger, old_set: GoldenSet, database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    with pytest.raises(NothingToMeasure, match="nothing to compare with: no search outside of golden runs"):
        drifted(database, old_set)
    plain = make_ledger(name="plain")
    asked(plain, "refunds", both(a="relevant"))
    assert plain.flush(60)
    found = drifted(database, old_set)
    assert (found.contradicted, found.not_asked, found.vanished, found.judged_again) == (None,) * 4
    assert "query_keys" in found.reasons["contradicted"]
    assert "names no corpus" in found.reasons["vanished"]
    asked(ledger, "refunds", both(a="relevant"))
    assert ledger.flush(60)
    assert "another key" in drifted(database, old_set, key=b"an entirely other key").reasons["not_asked"]
    assert drifted(database, old_set).not_asked is not None


# --- the commands ------------------------------------------------------------------------------------------


def test_build_and_drift_from_the_command_line(
    ledger: Ledger, database: Database, cli: Callable[..., Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("RAGLEDGER_KEY", KEY.decode())
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    asked(ledger, "refunds", both(a="relevant"))
    assert ledger.flush(60)
    (tmp_path / "asked.txt").write_text("refunds\nnever asked\n", "utf-8")
    (tmp_path / "ids.txt").write_text("b\n", "utf-8")
    ran = cli("golden", "build", "g.json", "--questions", "asked.txt")
    assert (ran.code, ran.out.splitlines()[0].startswith("g.json: 1 questions with 1 judged chunks, sha256:")) == (0, True)  # fmt: skip
    assert cli("golden", "build", "g.json", "--questions", "asked.txt").code == 2
    ran = cli("golden", "drift", "g.json")
    assert (ran.code, "vanished: not measured: the set names no corpus" in ran.out) == (0, True)
    for unheard in (("--voter", "agent"), ("--min-votes", "9")):
        ran = cli("golden", "drift", "g.json", *unheard)
        assert (
            ran.code,
            "contradicted: not measured: the voters of the window agree on no judgment" in ran.out,
        ) == (2, True)
    (tmp_path / "all.txt").write_text("a\n", "utf-8")
    assert cli("golden", "drift", "g.json", "--voter", "agent", "--ids", "all.txt").code == 0
    monkeypatch.setenv("RAGLEDGER_KEY", "an entirely other key for the same table")
    ran = cli("golden", "drift", "g.json")
    assert (ran.code, ran.out.count("not measured")) == (2, 3)
    monkeypatch.setenv("RAGLEDGER_KEY", KEY.decode())
    ran = cli("golden", "drift", "g.json", "--ids", "ids.txt")
    assert (ran.code, "gone: a" in ran.out) == (1, True)
    ran = cli("golden", "drift", "g.json", "--ids", "ids.txt", "--json")
    assert json.loads(ran.out)["vanished"]["ids"] == ["a"]
    assert cli("golden", "build", "h.json", "--questions", "asked.txt", "--voter", "agent").code == 2
    assert cli("golden", "build", "h.json").code == 2
