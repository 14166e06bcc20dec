"""`ragledger measure` on a real Postgres: equal to a recomputation in plain Python from a COPY dump."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest
import typer
from fix_pg import Database
from measures.every_case import NEW_WEIGHTS, everything_at_once
from measures.table_rows import TableRows, hit, minutes, padding
from oracles import dump, measurement
from same import differences
from typer.testing import CliRunner

from ragledger.cli.measure import measure_command
from ragledger.errors import NothingToMeasure
from ragledger.measurement import STEPS, Measurement, Window, measure

pytestmark = pytest.mark.pg


def test_measure_equals_a_recomputation_from_a_copy_dump(database: Database) -> None:
    store(everything_at_once(), database)
    assert_equal_to_the_oracle(database)


@pytest.mark.parametrize(
    "window",
    [
        {"project": "shop"},
        {"project": "default", "surface": "study"},
        {"surface": "agent"},
        {"corpus": "handbook"},
        {"since": minutes(4)},
        {"until": minutes(4)},
        {"since": minutes(3), "until": minutes(9), "project": "default"},
    ],
    ids=str,
)
def test_every_filter_means_the_same_to_sql_and_to_python(database: Database, window: dict[str, Any]) -> None:
    store(everything_at_once(), database)
    assert_equal_to_the_oracle(database, **window)


@pytest.mark.parametrize("cut", ["partially_relevant", "relevant", "highly_relevant"])
def test_the_useful_cut_means_the_same_to_sql_and_to_python(database: Database, cut: str) -> None:
    store(everything_at_once(), database)
    assert_equal_to_the_oracle(database, useful_from=cut)


def test_measure_agrees_with_sql_written_by_hand(database: Database) -> None:
    store(everything_at_once(), database)
    found = measured(database, project="default")

    statuses = dict(
        database.rows(
            "SELECT status, count(*) FROM searches s WHERE depth = 0 AND project = 'default' AND NOT EXISTS"
            " (SELECT FROM searches t WHERE t.attempt_of = s.search_id) GROUP BY status"
        )
    )
    assert found["searches"]["by_status"] == {"ok": 0, "error": 0, "cancelled": 0, "skipped": 0} | statuses

    useful, judged = database.rows(
        "SELECT sum(share), count(*) FROM ("
        "  SELECT search_id, rank, avg((outcome IN ('relevant', 'highly_relevant'))::int)::float8 AS share"
        "  FROM (SELECT DISTINCT ON (search_id, rank, actor_id) * FROM feedback"
        "        WHERE stage = 'judged' AND actor_kind = 'agent'"
        "        ORDER BY search_id, rank, actor_id, given_at DESC) votes GROUP BY 1, 2) hits"
        " JOIN searches USING (search_id) WHERE project = 'default'"
    )[0]
    agent = found["funnel"]["voters"]["agent"]
    assert (agent["useful"], agent["judged"]) == (useful, judged)

    p50, slowest = database.rows(
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms), count(latency_ms) FROM searches"
        " WHERE status = 'ok' AND depth = 0 AND project = 'default'"
    )[0]
    assert (found["searches"]["latency"]["p50_ms"], found["searches"]["latency"]["n"]) == (p50, slowest)

    found_something = database.value(
        "SELECT count(DISTINCT search_id) FROM hits JOIN searches USING (search_id)"
        " WHERE admitted AND status = 'ok' AND depth = 0 AND project = 'default'"
        " AND NOT (lexical_score IS NOT NULL AND lexical_score = 0 AND vector_score IS NULL)"
    )
    assert found["searches"]["hit_rate"]["n"] == found_something


def test_without_a_vote_precision_is_null_and_what_was_shown_is_counted(database: Database) -> None:
    rows = TableRows()
    rows.search(hit("a"), hit("b"))
    store(rows, database)

    found = measured(database)
    unknown = {"precision": None, "interval": None, "bounds": None, "useful": 0.0, "judged": 0}
    for kind in ("human", "agent", "judge", "system"):
        at = found["precision"]["overall"][kind]["at"]
        assert {k: one["shown"] for k, one in at.items()} == {"1": 1, "3": 2, "5": 2, "10": 2}
        for one in at.values():
            assert {name: one[name] for name in unknown} == unknown


def test_a_hit_with_two_voters_of_one_kind_counts_once_with_the_share_who_found_it_useful(
    database: Database,
) -> None:
    rows = TableRows()
    search = rows.search(hit("a"))
    rows.vote(search, 1, "relevant", by="human:ana")
    rows.vote(search, 1, "not_relevant", by="human:ben")
    rows.vote(search, 1, "highly_relevant", by="agent:7")
    store(rows, database)

    overall = measured(database)["precision"]["overall"]
    at = overall["human"]["at"]["1"]
    assert (at["precision"], at["useful"], at["judged"], at["shown"], at["judged_share"]) == (
        0.5,
        0.5,
        1,
        1,
        1.0,
    )
    assert (overall["human"]["votes"], overall["human"]["actors"]) == (2, 2)
    assert overall["agent"]["at"]["1"]["precision"] == 1.0


def test_a_changed_mind_wins_and_opening_the_chunk_afterwards_erases_nothing(database: Database) -> None:
    rows = TableRows()
    search = rows.search(hit("a"))
    rows.vote(search, 1, "not_relevant", at=minutes(1))
    rows.vote(search, 1, "relevant", at=minutes(2))
    rows.opened(search, 1, at=minutes(3))
    store(rows, database)

    found = measured(database)
    human = found["funnel"]["voters"]["human"]
    assert (human["accessed"], human["judged"], human["useful"]) == (1, 1, 1.0)
    assert found["precision"]["overall"]["human"]["votes"] == 1


def test_precision_uses_the_latest_delivered_order_and_says_so(database: Database) -> None:
    rows = TableRows()
    search = rows.search(hit("a"), hit("b"), hit("c"))
    rows.search(hit("d"))
    rows.deliver(search, [1, 2, 3], at=minutes(1))
    rows.deliver(search, [2, 1, 3], at=minutes(2))
    rows.deliver(search, [3, 1], at=minutes(2))  # at the same moment: the later id wins
    rows.vote(search, 3, "relevant")
    rows.vote(search, 1, "not_relevant")
    rows.vote(search, 2, "not_relevant")
    store(rows, database)

    found = measured(database)["precision"]
    human = found["overall"]["human"]
    assert found["order"] == {"delivered": 1, "retriever": 1}
    at = human["at"]["1"]
    assert (at["precision"], at["useful"], at["judged"], at["shown"], at["judged_share"]) == (
        1.0,
        1.0,
        1,
        2,
        0.5,
    )
    assert human["at"]["3"]["precision"] == 0.5, "the hit that was dropped counts in no cut"
    assert human["not_delivered"] == 1


def test_padding_is_no_hit_and_an_unknown_lexical_score_is_no_padding(database: Database) -> None:
    rows = TableRows()
    rows.search(padding("a"), padding("b", score=None))
    rows.search(padding("a"), hit("b"))
    rows.search(hit("a", score=0.0, lexical_score=None, vector_score=None))
    rows.search(padding("a", vector_score=0.0))
    rows.search(padding("a", signals={"splade": 0.0}))
    rows.search(padding("a", signals={"splade": {"score": None, "rank": 1}}))
    rows.search(padding("a", score=0.7))
    rows.search(padding("a", signals={"splade": None}))
    rows.search()
    store(rows, database)

    found = measured(database)["searches"]
    assert (found["empty"], found["padded_only"], found["hit_rate"]["n"]) == (1, 2, 6)
    assert_equal_to_the_oracle(database)


def test_epochs_are_listed_with_their_weights_and_precision_is_given_for_each(database: Database) -> None:
    rows = TableRows()
    old = rows.search(hit("a"), epoch="e1")
    new = rows.search(hit("a"), epoch="e2", weights=NEW_WEIGHTS)
    rows.search(status="skipped", skip_reason="no_goal", epoch="none", vector_available=None)
    rows.vote(old, 1, "relevant")
    rows.vote(new, 1, "not_relevant")
    store(rows, database)

    found = measured(database)
    assert [epoch["epoch"] for epoch in found["epochs"]] == ["e1", "e2"], "a skip ran under no weights"
    assert found["epochs"][1]["weights"] == NEW_WEIGHTS
    assert found["precision"]["across"]["epochs"] == 2
    assert found["precision"]["overall"]["human"]["at"]["1"]["precision"] == 0.5
    by_epoch = {
        epoch: part["voters"]["human"]["at"]["1"]["precision"]
        for epoch, part in found["precision"]["by_epoch"].items()
    }
    assert by_epoch == {"e1": 1.0, "e2": 0.0}


def test_the_weights_of_an_epoch_are_those_of_its_latest_search_that_ran(database: Database) -> None:
    rows = TableRows()
    rows.search(started_at=minutes(1), weights=NEW_WEIGHTS)
    rows.search(started_at=minutes(2))
    rows.search(started_at=minutes(2), weights=NEW_WEIGHTS)
    rows.search(started_at=minutes(2), status="skipped", skip_reason="no_goal")
    store(rows, database)

    assert [epoch["weights"] for epoch in measured(database)["epochs"]] == [NEW_WEIGHTS]


def test_a_group_of_attempts_counts_once_in_the_window_of_its_last_attempt(database: Database) -> None:
    rows = TableRows()
    first = rows.search(status="error", started_at=minutes(1))
    rows.search(hit("a"), attempt_of=first, started_at=minutes(10))
    store(rows, database)

    assert measured(database)["searches"]["by_status"] == {"ok": 1, "error": 0, "cancelled": 0, "skipped": 0}
    with database.connect() as connection, pytest.raises(NothingToMeasure):
        measure(connection, Window(until=minutes(5)))


def test_p95_is_null_for_nineteen_searches_and_a_measured_value_for_twenty(database: Database) -> None:
    rows = TableRows()
    for number in range(1, 20):
        rows.search(latency_ms=float(number))
    store(rows, database)
    assert measured(database)["searches"]["latency"] == {"n": 19, "p50_ms": 10.0, "p95_ms": None}

    more = TableRows()
    more.search(latency_ms=20.0, search_id=UUID(int=1 << 64))
    store(more, database)
    assert measured(database)["searches"]["latency"] == {"n": 20, "p50_ms": 10.0, "p95_ms": 19.0}


def test_an_empty_window_is_refused_with_the_time_of_the_newest_search(database: Database) -> None:
    with (
        database.connect() as connection,
        pytest.raises(NothingToMeasure, match=r"^nothing to measure: no search; the table holds no search$"),
    ):
        measure(connection, Window())
    rows = TableRows()
    rows.search(project="shop")
    store(rows, database)
    with database.connect() as connection, pytest.raises(NothingToMeasure) as refused:
        measure(connection, Window(project="shop", since=minutes(60)))
    assert str(refused.value) == (
        "nothing to measure: no search of project 'shop' since 2026-03-01 10:00 UTC; "
        "searches at other times: 1, from 2026-03-01 09:00 UTC to 2026-03-01 09:00 UTC, project shop, corpus handbook"
    )


def test_measuring_writes_nothing_and_needs_no_more_than_the_collector_may(database: Database) -> None:
    store(everything_at_once(), database)
    with database.connect(role="ragledger_collector") as connection:
        assert measure(connection, Window()).searches.searches > 0


def test_every_step_is_told_to_whoever_shows_how_far_it_is(database: Database) -> None:
    store(everything_at_once(), database)
    told: list[int] = []
    with database.connect() as connection:
        measure(connection, Window(), step=told.append)
    assert told == [1] * STEPS


def test_json_is_the_same_when_the_session_lives_in_another_time_zone(database: Database) -> None:
    store(everything_at_once(), database)
    with database.connect() as connection:
        here = measure(connection, Window(since=minutes(0)))
        connection.execute("SET TIME ZONE 'Asia/Kathmandu'")
        there = measure(connection, Window(since=minutes(0)))
    assert msgspec.json.encode(here) == msgspec.json.encode(there)


@pytest.fixture
def cli(database: Database) -> Callable[..., Any]:
    """`ragledger measure` on the test's database, as a program would call it."""
    app = typer.Typer()
    app.command()(measure_command)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["--dsn", database.dsn, "--since", "all", *arguments])

    return run


def test_the_command_prints_one_measurement_in_three_ways(
    database: Database, cli: Callable[..., Any]
) -> None:
    store(everything_at_once(), database)
    text, as_markdown, as_json = cli(), cli("--markdown"), cli("--json")
    assert (text.exit_code, as_markdown.exit_code, as_json.exit_code) == (0, 0, 0)
    assert json.loads(as_json.stdout) == measured(database)
    assert "| all | 42 | 38 | 1 | 1 | 2 |" in as_markdown.stdout
    assert "Precision, across 2 epochs" in text.stdout


def test_options_choose_the_window_and_the_cut(database: Database, cli: Callable[..., Any]) -> None:
    store(everything_at_once(), database)
    chosen = cli(
        "--json",
        *("--project", "default", "--surface", "study", "--corpus", "handbook"),
        *("--since", "2026-03-01T09:02Z", "--until", "2026-03-01T09:30Z", "--useful-from", "highly_relevant"),
    )
    assert json.loads(chosen.stdout) == measured(
        database,
        useful_from="highly_relevant",
        project="default",
        surface="study",
        corpus="handbook",
        since=minutes(2),
        until=minutes(30),
    )


def test_exit_1_when_vector_search_was_unavailable_throughout_and_the_report_is_printed(
    database: Database, cli: Callable[..., Any]
) -> None:
    rows = TableRows()
    rows.search(hit("a"), vector_available=False, degraded=True)
    rows.search(hit("a"), vector_available=None)
    store(rows, database)

    result = cli("--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["vector"] == {"available": 0, "unavailable": 1, "unknown": 1}
    assert result.stderr == (
        "ragledger: vector search was unavailable in every search of this window that tells (1): "
        "what was measured is the lexical half only\n"
    )


@pytest.mark.parametrize(
    "wrong", [("--since", "soon"), ("--json", "--markdown"), ("--until", "2020-01-01", "--since", "1d")]
)
def test_exit_2_when_it_is_asked_wrongly(cli: Callable[..., Any], wrong: tuple[str, ...]) -> None:
    assert cli(*wrong).exit_code == 2


def test_nothing_to_measure_is_an_error_that_the_program_turns_into_exit_2(
    cli: Callable[..., Any],
) -> None:
    assert isinstance(cli().exception, NothingToMeasure)


def store(rows: TableRows, database: Database) -> None:
    with database.connect() as connection:
        rows.insert(connection)


def measured(database: Database, *, useful_from: Any = "relevant", **window: Any) -> dict[str, Any]:
    with database.connect() as connection:
        return as_json(measure(connection, Window(**window), useful_from=useful_from))


def as_json(measurement: Measurement) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(measurement))
    return found


def assert_equal_to_the_oracle(database: Database, *, useful_from: Any = "relevant", **window: Any) -> None:
    with database.connect() as connection:
        expected = measurement(dump(connection), useful_from=useful_from, **window)
    assert not differences(measured(database, useful_from=useful_from, **window), expected)


def test_p8_a_search_whose_result_nobody_could_read_is_unknown_and_not_empty(database: Database) -> None:
    rows = TableRows()
    rows.search(hit())
    rows.search(admitted_count=None)
    rows.search()
    with database.connect() as connection:
        rows.insert(connection)
        found = msgspec.to_builtins(measure(connection, Window()))["searches"]

    assert (found["untold"], found["empty"]) == (1, 1)
    assert (found["hit_rate"]["n"], found["hit_rate"]["of"]) == (1, 2)
