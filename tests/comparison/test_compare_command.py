"""`ragledger compare` on a real Postgres, as a person runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from comparison.worlds import AFTER, BEFORE, better_after, epoch
from fix_pg import Database
from measures.every_case import everything_at_once
from measures.table_rows import TableRows, hit, minutes
from oracles import dump, measurement
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner, Result

from ragledger.cli.app import app
from ragledger.errors import NotComparable, NothingToMeasure, SchemaError

pytestmark = pytest.mark.pg

MIDDLE = minutes(5)


def run(database: Database, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments, "--dsn", database.dsn])


def found(database: Database, *arguments: str) -> dict[str, Any]:
    result = run(database, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def stored(rows: TableRows, database: Database) -> Database:
    with database.connect() as connection:
        rows.insert(connection)
    return database


def codes(comparison: dict[str, Any]) -> set[str]:
    return {caveat["code"] for caveat in comparison["caveats"]}


def test_it_says_the_difference_its_interval_and_what_changed(database: Database) -> None:
    stored(better_after(), database)
    result = run(database)

    assert result.exit_code == 0
    words = " ".join(result.output.split())
    assert "B is better by 25.0 points (16.8 to 32.7) in the first 5, human votes, 80 searches" in words
    assert "changed: lexical 0.4 → 0.6, vector 0.6 → 0.4" in words
    assert "A ended before B began" in words
    assert "significant" not in words

    comparison = found(database)
    at = comparison["voters"]["human"]["at"]["5"]
    assert (at["a"]["precision"], at["b"]["precision"]) == (0.375, 0.625)
    assert at["unpaired"]["value"] == pytest.approx(0.25)
    assert at["unpaired"]["p"] <= at["unpaired"]["p_adjusted"] <= 4 * at["unpaired"]["p"]
    assert at["paired"] is None
    assert comparison["voters"]["human"]["verdict"]["word"] == "better"
    assert set(comparison["voters"]) == {"human"}


def test_its_counts_are_those_of_an_oracle(database: Database) -> None:
    """Attempts, delivered order, gaps, dropped hits, several voters: as `measure` counts each epoch."""
    stored(everything_at_once(), database)
    comparison = found(database, "e1", "e2")
    with database.connect() as connection:
        expected = measurement(dump(connection))
    assert expected is not None
    for kind, voter in comparison["voters"].items():
        for k, at in voter["at"].items():
            for side, name in (("a", "e1"), ("b", "e2")):
                theirs = expected["precision"]["by_epoch"][name]["voters"][kind]["at"][k]
                theirs = {
                    key: theirs[key] for key in ("precision", "useful", "judged", "shown", "judged_share")
                }
                ours = {key: at[side][key] for key in theirs}
                assert ours == pytest.approx(theirs, nan_ok=True), (kind, k, side)
    assert {"human", "judge", "agent"} <= set(comparison["voters"])
    ran = [row for row in expected["epochs"] if row["epoch"] == "e1"]
    assert (comparison["a"]["searches"], comparison["a"]["ok"]) == (ran[0]["searches"], ran[0]["ok"])


def test_its_hit_rate_and_latency_are_those_of_an_oracle(database: Database) -> None:
    stored(everything_at_once(), database)
    comparison = found(database, "..2026-03-01T09:05Z", "2026-03-01T09:05Z..")
    with database.connect() as connection:
        tables = dump(connection)
    for side, bounds in (("a", {"until": MIDDLE}), ("b", {"since": MIDDLE})):
        theirs = measurement(tables, **bounds)
        assert theirs is not None
        for ours, expected in (
            (comparison["hit_rate"][side], theirs["searches"]["hit_rate"]),
            (comparison["degraded"][side], theirs["degraded"]),
        ):
            assert [ours[key] for key in ("n", "of", "rate")] == [
                expected[key] for key in ("n", "of", "rate")
            ]
        assert comparison["latency"][side] == theirs["searches"]["latency"]
    assert "several_epochs" in codes(comparison)


def test_an_unjudged_hit_changes_no_difference(make_database: Callable[[], Database]) -> None:
    rows = better_after()
    before = found(stored(rows, make_database()))
    for search in rows.rows["searches"][50:]:
        rows.rows["hits"].append({"search_id": search["search_id"], "rank": 7, **hit("new")})
    after = found(stored(rows, make_database()))

    for k in ("1", "3", "5", "10"):
        one, other = before["voters"]["human"]["at"][k], after["voters"]["human"]["at"][k]
        assert one["unpaired"] == other["unpaired"]
    assert (
        after["voters"]["human"]["at"]["10"]["b"]["shown"]
        > before["voters"]["human"]["at"]["10"]["b"]["shown"]
    )


def test_where_the_same_questions_recur_they_are_paired_and_that_is_the_headline(database: Database) -> None:
    rows = TableRows()
    for name, useful in (("e1", [0, 1, 2, 3] * 10), ("e2", [1, 2, 3, 4] * 10)):
        epoch(rows, name, useful, query_key=lambda number: number.to_bytes(16, "big"))
    comparison = found(stored(rows, database))
    human = comparison["voters"]["human"]

    assert human["headline"] == "paired"
    assert human["at"]["5"]["paired"]["questions"] == human["at"]["5"]["paired"]["better"] == 40
    assert human["at"]["5"]["unpaired"]["value"] == pytest.approx(0.25)
    assert human["at"]["5"]["paired"]["p"] < human["at"]["5"]["unpaired"]["p"]
    assert "query_unknown" not in codes(comparison)


def test_too_few_searches_are_not_tested_and_it_says_how_many_are_missing(database: Database) -> None:
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * 20)
    epoch(rows, "e2", [4] * 12)
    comparison = found(stored(rows, database))
    human = comparison["voters"]["human"]

    assert human["verdict"]["word"] == "too few"
    assert "B has 12 searches with human votes in the first 5 and needs 18 more" in human["verdict"]["text"]
    assert human["at"]["5"]["unpaired"]["p"] is None
    assert human["at"]["5"]["unpaired"]["low"] > 0
    assert run(database, "e2", "e1", "--fail-if-worse").exit_code == 0


def test_voter_kinds_are_never_pooled(database: Database) -> None:
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * 20, by="human")
    epoch(rows, "e1", [3] * 40, by="agent")
    epoch(rows, "e2", [2, 3] * 20, by="human")
    epoch(rows, "e2", [2, 3] * 20, by="agent")
    comparison = found(stored(rows, database), "e1", "e2")

    assert {kind: said["verdict"]["word"] for kind, said in comparison["voters"].items()} == {
        "human": "better",
        "agent": "worse",
    }


@pytest.mark.parametrize(("sides", "code"), [(("e2", "e1"), 1), (("e1", "e2"), 0)])
def test_it_fails_on_demand_where_b_is_worse(database: Database, sides: tuple[str, str], code: int) -> None:
    stored(better_after(), database)
    result = run(database, *sides, "--fail-if-worse")

    assert result.exit_code == code
    assert ("B is worse by human votes" in result.output) == bool(code)
    assert run(database, *sides).exit_code == 0


def test_a_total_collapse_is_worse(database: Database) -> None:
    """Nothing varies: every question lost everything."""
    rows = TableRows()
    for name, useful in (("e1", [4] * 40), ("e2", [0] * 40)):
        epoch(rows, name, useful, query_key=lambda number: number.to_bytes(16, "big"))
    comparison = found(stored(rows, database))["voters"]["human"]

    assert (comparison["headline"], comparison["verdict"]["word"]) == ("paired", "worse")
    assert comparison["at"]["5"]["paired"]["value"] == -1.0
    assert comparison["at"]["5"]["paired"]["high"] < -0.8
    assert run(database, "--fail-if-worse").exit_code == 1
    assert run(database, "e2", "e1", "--fail-if-worse").exit_code == 0


def test_across_a_change_of_the_index_it_refuses_unless_forced(database: Database) -> None:
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * 20, index_version="v1", embedding_model="m", weights=BEFORE)
    epoch(rows, "e2", [2, 3] * 20, index_version="v2", embedding_model="m", weights=AFTER)
    stored(rows, database)

    refused = run(database)
    assert isinstance(refused.exception, NotComparable)
    assert "index_version v1 → v2" in str(refused.exception)
    forced = found(database, "--force")
    assert forced["voters"]["human"]["verdict"]["word"] == "better"
    [text] = [caveat["text"] for caveat in forced["caveats"] if caveat["code"] == "index"]
    assert text == "the difference is of index and weights together: index_version v1 → v2"
    assert {"name": "index_version", "a": "v1", "b": "v2"} in forced["changes"]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("e",), NotComparable, "'e' is the beginning of 2 epochs: e2, e1"),
        (("x", "e1"), NotComparable, "no epoch 'x' ran in the window; the latest are: e2, e1"),
        (("e1", "e1"), NotComparable, "A and B have 40 searches in common"),
        (("e1", "2026-03-01..2026-03-02"), NotComparable, "A and B have 40 searches in common"),
        (("..2026-03-01T09:30Z", "2026-03-01T09:10Z.."), NotComparable, "A and B have 20 searches in common"),
        (
            ("2020-01-01..2020-02-01", "e1"),
            NothingToMeasure,
            "no search that ran since 2020-01-01 00:00 UTC until 2020-02-01 00:00 UTC; searches at other times: 80, from 2026-03-01 ",
        ),
        (
            ("previous", "current", "--since", "2026-03-01T09:40Z"),
            NotComparable,
            "there is no previous epoch",
        ),
    ],
)
def test_what_cannot_be_told_is_refused(
    database: Database, arguments: tuple[str, ...], error: type[Exception], words: str
) -> None:
    stored(better_after(), database)
    result = run(database, *arguments)

    assert isinstance(result.exception, error), result.output
    assert words in str(result.exception)


def test_sides_are_named_by_words_beginnings_and_windows(database: Database) -> None:
    stored(better_after(), database)
    windows = found(database, "2026-03-01T09:00Z..2026-03-01T09:40Z", "2026-03-01T09:40Z..")
    epochs = found(database, "e1", "current")

    assert windows["voters"]["human"]["at"] == epochs["voters"]["human"]["at"]
    assert (windows["a"]["epoch"], epochs["b"]["epoch"]) == (None, "e2")
    assert run(database, "2026-03-02..2026-03-01", "e1").exit_code == 2
    assert run(database, "--k", "4").exit_code == 2


def test_a_plan_is_written_down_found_and_looks_are_counted(database: Database) -> None:
    rows = better_after()
    stored(rows, database)
    plan = found(database, "e1", "--plan", "--from", "0.6", "--to", "0.7", "--k", "3")["plan"]
    assert (plan["epoch"], plan["k"], plan["voter"]) == ("e1", 3, "human")
    assert plan["votes"] == pytest.approx(355.9 * plan["design_effect"], abs=1)
    assert plan["searches"] == -(-plan["votes"] // 3)

    first, again = found(database), found(database)
    assert first["k"] == again["k"] == 3
    assert (first["plan"]["looks"], again["plan"]["looks"]) == (1, 1)  # the same votes are no further look
    assert first["plan"]["reached"] == pytest.approx(120 / plan["votes"])
    assert 0.06 < first["plan"]["error"] < 0.1
    assert "before the plan is reached" in first["plan"]["text"]

    more = TableRows()
    more._numbers = rows._numbers
    epoch(more, "e2", [2, 3] * 10, weights=AFTER)
    stored(more, database)
    second = found(database)
    assert second["plan"]["looks"] == 2
    assert [look["votes_b"] for look in second["plan"]["earlier"]] == [120]
    assert second["plan"]["error"] >= first["plan"]["error"]
    assert database.rows("SELECT votes_a, votes_b FROM plan_looks ORDER BY looked_at") == [
        (120, 120),
        (120, 180),
    ]
    assert found(database, "--surface", "study")["plan"] is None  # planned for all surfaces


def test_at_the_planned_number_it_says_so(database: Database) -> None:
    stored(better_after(), database)
    assert run(database, "e1", "--plan", "--from", "0.3", "--to", "0.6").exit_code == 0
    comparison = found(database)

    assert comparison["plan"]["reached"] >= 1
    assert "the plan is reached, and this is the look that was planned" in comparison["plan"]["text"]
    assert comparison["plan"]["error"] == pytest.approx(0.05, abs=0.003)


def test_who_may_only_read_compares_and_is_told_that_the_look_is_not_kept(
    make_login: Callable[..., str], database: Database
) -> None:
    stored(better_after(), database)
    run(database, "e1", "--plan", "--effect", "0.1")
    login = make_login()
    with database.connect() as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA ragledger TO {login}")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA ragledger TO {login}")
    reader = Database(make_conninfo(database.dsn, user=login))

    looked = run(reader)
    assert looked.exit_code == 0, looked.output
    assert "this look was not written down" in " ".join(looked.output.split())
    assert database.value("SELECT count(*) FROM plan_looks") == 0
    planned = run(reader, "e1", "--plan", "--effect", "0.1")
    assert isinstance(planned.exception, SchemaError)
    assert "may not insert into `plans`" in str(planned.exception)
    assert "judged hits on each side" in planned.output
    assert database.value("SELECT count(*) FROM plans") == 1
    with database.connect() as connection:
        connection.execute(f"DROP OWNED BY {login}")


@pytest.mark.parametrize(
    "arguments",
    [("--plan",), ("--plan", "--effect", "0.1", "--to", "0.9"), ("e1", "e2", "--plan", "--effect", "0.1"),
     ("..", "--plan", "--effect", "0.1"), ("--plan", "--effect", "0.9")],
    ids=str,
)  # fmt: skip
def test_what_is_no_plan_is_refused(database: Database, arguments: tuple[str, ...]) -> None:
    stored(better_after(), database)
    assert run(database, *arguments).exit_code == 2
    assert database.value("SELECT count(*) FROM plans") == 0


def test_without_votes_nothing_can_be_planned(database: Database) -> None:
    rows = TableRows()
    rows.search(hit("a"))
    result = run(stored(rows, database), "--plan", "--effect", "0.1")

    assert isinstance(result.exception, NothingToMeasure)
    assert "fewer than two searches of current have human votes" in str(result.exception)
