"""`ragledger verify`: every cell counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from collector_world import ROLLUPS, arrive, collect, verified
from fix_pg import Database
from measures.table_rows import START, TableRows, hit
from psycopg import sql
from typer.testing import CliRunner

from ragledger.cli.app import app
from ragledger_collector import Collector

pytestmark = pytest.mark.pg

_UNTRUE = {
    "int8": "{0} + 1",
    "_int8": "{0} || 1::int8",
    "int4": "coalesce({0}, 0) + 50",
    "numeric": "{0} + 0.000000000001",
    "timestamptz": "coalesce({0}, now()) - interval '1 day'",
    "bool": "NOT {0}",
    "jsonb": "'{{}}'",
    "text": "coalesce({0}, '') || 'x'",
    "uuid": "gen_random_uuid()",
}
_GRAINS = {"rollup_searches": "'minute'", "rollup_latency_parts": "'hour'"}  # words of a closed list
_LEFT_OUT = {"rollup_inventories"}  # says itself whether it still holds: the tests below


@pytest.fixture
def filled(database: Database) -> Database:
    rows = TableRows()
    first = rows.search(
        hit(), hit("b", document_id="d2", source_kind="page"), top_candidate_score=0.7, top_admitted_score=0.5
    )
    rows.vote(first, 1, "relevant")
    rows.opened(first, 1)
    rows.search(status="skipped", skip_reason="no_goal", started_at=START)
    rows.search(degraded=True, degraded_reason="retry", started_at=START + timedelta(hours=2), session_id="s")
    with database.connect() as connection:
        connection.execute(
            "INSERT INTO inventory (corpus, document_id) VALUES ('handbook', 'd2'), ('handbook', 'd9')"
        )
        arrive(connection, rows)
    collect(database)
    assert verified(database).differing == ()
    return database


def columns(database: Database, table: str) -> list[tuple[str, str]]:
    return database.rows(  # type: ignore[return-value]
        "SELECT column_name::text, udt_name::text FROM information_schema.columns"
        " WHERE table_schema = 'ragledger' AND table_name = %s ORDER BY ordinal_position",
        table,
    )


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_p11_what_nobody_counted_is_not_proven(database: Database, options: tuple[str, ...]) -> None:
    def run() -> Any:
        return CliRunner().invoke(app, ["verify", "--dsn", database.dsn, *options])

    assert run().exit_code == 0  # nothing is there
    rows = TableRows()
    rows.search(hit(), started_at=START)
    with database.connect() as connection:
        arrive(connection, rows)
    found = run()
    assert found.exit_code == 2
    if not options:
        assert found.stdout == "1 minute(s) wait for `ragledger collect` and were left out\n"
        assert found.stderr == "nothing was compared: run `ragledger collect --once` first\n"
    collect(database)
    assert run().exit_code == 0


@pytest.mark.parametrize("table", sorted({*ROLLUPS, "rollup_series"} - _LEFT_OUT))
def test_p11_one_wrong_cell_in_any_column_is_named(filled: Database, table: str) -> None:
    keys = {name for (name,) in filled.rows(
        "SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)"
        " WHERE i.indisprimary AND i.indrelid = %s::regclass", table
    )}  # fmt: skip
    for column, kind in columns(filled, table):
        untrue = _UNTRUE[kind].format(column)
        if column == "grain" and table in _GRAINS:
            untrue = _GRAINS[table]
        if table == "rollup_words" and column == "what":
            untrue = "CASE what WHEN 'skip_reason' THEN 'source_kind' ELSE 'skip_reason' END"
        where = "grain = 'day'" if "grain" in {name for name, _ in columns(filled, table)} else "true"
        with filled.connect() as connection:
            connection.execute(f"CREATE TABLE kept AS SELECT * FROM {table}")
            changed = connection.execute(
                f"UPDATE {table} SET {column} = {untrue} WHERE ctid = (SELECT ctid FROM {table} WHERE {where} LIMIT 1)"
            )
            assert changed.rowcount == 1
            found = verified(filled).differing
            connection.execute(f"TRUNCATE {table}")
            connection.execute(f"INSERT INTO {table} SELECT * FROM kept")
            connection.execute("DROP TABLE kept")
        named = {name for one in found for name in one.columns}
        if column in keys or table == "rollup_series":
            assert named & {"(missing)", "(unexpected)"}, column
        else:
            assert {(one.table, one.columns) for one in found} >= {(table, (column,))}, column
            assert len(found) == 1, column
    assert verified(filled).differing == ()


@pytest.mark.parametrize("table", sorted({*ROLLUPS} - _LEFT_OUT))
def test_p11_a_row_too_few_is_missing(filled: Database, table: str) -> None:
    with filled.connect() as connection:
        connection.execute(f"DELETE FROM {table}")
    assert {one.columns for one in verified(filled).differing if one.table == table} == {("(missing)",)}


def test_p11_how_long_the_inventory_was_counts(filled: Database) -> None:
    with filled.connect() as connection:
        connection.execute("UPDATE rollup_inventories SET documents = documents + 1")
    [found] = verified(filled).differing
    assert (found.table, found.project, found.key, found.columns) == (
        *("rollup_inventories", "", ("handbook",), ("documents",)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO inventory (corpus, document_id) VALUES ('handbook', 'd1')",
        "INSERT INTO inventory (corpus, document_id) VALUES ('other', 'd1')",
        "UPDATE inventory SET document_id = 'd3' WHERE document_id = 'd9'",
        "DELETE FROM inventory WHERE document_id = 'd9'",
        "DELETE FROM inventory",
        "DELETE FROM rollup_inventories",
        "UPDATE rollup_inventories SET fingerprint = 0",
        "INSERT INTO rollup_inventories VALUES ('gone', 7, 7)",
    ],
)
def test_p11_an_inventory_that_changed_waits_for_the_collector(filled: Database, change: str) -> None:
    with filled.connect() as connection:
        connection.execute(change)
        connection.execute("UPDATE rollup_corpora SET listed = 9 WHERE %s !~ 'other|gone'", [change])
    found = verified(filled)
    assert (found.differing, found.waiting_corpora) == ((), 1)
    assert collect(filled).days == 0
    found = verified(filled)
    assert (found.differing, found.waiting_corpora) == ((), 0)


@pytest.mark.parametrize(
    "changed", ["rollup_inventories SET fingerprint = 0", "inventory SET document_id = 'd3'"]
)
@pytest.mark.parametrize("column", ["retrieved", "admitted", "accessed", "judged", "useful", "first_day"])
def test_p11_what_no_inventory_changes_is_compared_while_one_has_changed(
    filled: Database, changed: str, column: str
) -> None:
    value = "first_day - interval '1 day'" if column == "first_day" else f"{column} + 1"
    with filled.connect() as connection:
        connection.execute(f"UPDATE {changed} WHERE ctid = (SELECT max(ctid) FROM {changed.split()[0]})")  # type: ignore[arg-type]
        connection.execute(f"UPDATE rollup_corpora SET listed = 9, {column} = {value}")  # type: ignore[arg-type]
    found = verified(filled)
    assert found.waiting_corpora == 1
    assert {one.table for one in found.differing} == {"rollup_corpora"}
    named = {name for one in found.differing for name in one.columns}
    assert named == ({"(missing)", "(unexpected)"} if column == "first_day" else {column})


_SUMS = {
    "UPDATE rollup_latency_parts SET searches = searches + 1 WHERE grain = 'hour'": "searches",
    "UPDATE rollup_latency_parts SET bins = bins || 1::int8 WHERE grain = 'day'": "bins",
    "DELETE FROM rollup_latency_parts": "(missing)",
    "UPDATE rollup_corpus_days SET useful = useful + 1": "useful",
    "UPDATE rollup_corpus_days SET corpus = 'x'": "(missing) (unexpected)",
    "UPDATE rollup_searches SET found = found + 1 WHERE grain = 'minute'": "found",
    "UPDATE rollup_searches SET last_ran_at = now() WHERE grain = 'hour'": "last_ran_at",
    "DELETE FROM rollup_words WHERE grain = 'hour'": "(missing) (unexpected)",
    "UPDATE rollup_shown SET shown = shown + 1 WHERE grain = 'day'": "shown",
    "UPDATE rollup_votes SET useful = useful + 0.1 WHERE grain = 'day'": "useful",
    "UPDATE rollup_judged SET k = 2 WHERE grain = 'day' AND k = 1": "(missing) (unexpected)",
    "DELETE FROM rollup_latency WHERE grain = 'minute'": "(unexpected)",
}


@pytest.mark.parametrize("change", _SUMS)
@pytest.mark.parametrize("mark", ["rollup_sealed", "rollup_dirty"])
def test_p11_a_sum_of_rollups_is_held_against_them_where_the_table_cannot_say_it(
    filled: Database, mark: str, change: str
) -> None:
    with filled.connect() as connection:
        connection.execute(
            f"INSERT INTO {mark} (project, bucket) SELECT DISTINCT project, bucket FROM rollup_searches WHERE grain = 'minute'"
        )
        for table, column in (("searches", "ok"), ("shown", "shown"), ("votes", "useful")):
            connection.execute(f"UPDATE rollup_{table} SET {column} = 2 * {column}")
        untouched = verified(filled)
        connection.execute(change)
    assert untouched.differing == ()
    found = verified(filled)
    assert found.rows == untouched.rows, "they are not what was held against the table"
    assert {one.table for one in found.differing} == {change.split()[1 + change.startswith("DELETE")]}
    assert {name for one in found.differing for name in one.columns} == {*_SUMS[change].split()}


def test_p11_an_inventory_that_changes_while_it_is_counted_is_counted_again(filled: Database) -> None:
    """There and back: what was counted in between must not pass for what is there now."""
    there_and_back = iter(
        [
            "INSERT INTO inventory (corpus, document_id) VALUES ('handbook', 'd1')",
            "DELETE FROM inventory WHERE document_id = 'd1'",
        ]
    )
    with filled.connect() as connection:
        connection.execute(
            "INSERT INTO rollup_dirty_corpora SELECT DISTINCT project, corpus FROM rollup_corpora"
        )

    def change(_: int) -> None:
        if statement := next(there_and_back, None):
            with filled.connect() as connection:
                connection.execute(statement)

    with filled.connect(role="ragledger_collector") as connection:
        Collector(connection).count_documents(step=change)
    assert verified(filled).waiting_corpora == 1
    collect(filled)
    found = verified(filled)
    assert (found.differing, found.waiting_corpora) == ((), 0)


def test_p11_an_hour_that_happens_twice_in_the_zone_of_the_database_is_two_hours(database: Database) -> None:
    rows = TableRows()
    for minutes in range(0, 121, 10):
        rows.search(
            hit(), started_at=datetime(2026, 10, 25, tzinfo=timezone.utc) + timedelta(minutes=minutes)
        )
    with database.connect() as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("ALTER DATABASE {} SET TimeZone = 'Europe/Berlin'").format(name))
        arrive(connection, rows)
    assert collect(database).minutes == 13
    found = verified(database)
    assert (found.differing, found.waiting, found.sealed) == ((), 0, ())


@pytest.fixture
def run(filled: Database) -> Callable[..., Any]:
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "--dsn", filled.dsn])


def test_the_command_says_what_differs_and_leaves_with_1(filled: Database, run: Callable[..., Any]) -> None:
    good = run("verify")
    assert (good.exit_code, good.stderr) == (0, "")
    assert good.stdout.endswith("row(s) of the rollups are what the table says\n")
    with filled.connect() as connection:
        connection.execute("UPDATE rollup_shown SET shown = 9 WHERE grain = 'hour' AND position = 1")
    bad = run("verify")
    assert bad.exit_code == 1
    assert "rollup_shown: hour / default / 2026-03-01T09:00:00+00:00 / " in bad.stderr
    assert bad.stderr.endswith(": shown\n1 row(s) differ from the table\n")
    (difference,) = json.loads(run("verify", "--json").stdout)["differing"]
    assert (difference["table"], difference["grain"], difference["columns"]) == (
        "rollup_shown",
        "hour",
        ["shown"],
    )


def test_what_waits_is_said_and_left_out(filled: Database, run: Callable[..., Any]) -> None:
    rows = TableRows()
    rows.search(hit(), started_at=START + timedelta(days=3))
    rows.rows["searches"][0] |= {
        "search_id": "00000000-0000-0000-0000-0000000fffff",
        "root_id": "00000000-0000-0000-0000-0000000fffff",
        "writer_seq": 500,
    }
    rows.rows["hits"][0]["search_id"] = "00000000-0000-0000-0000-0000000fffff"
    with filled.connect() as connection:
        arrive(connection, rows)
    found = run("verify")
    assert (found.exit_code, found.stdout.splitlines()[0]) == (
        0,
        "1 minute(s) wait for `ragledger collect` and were left out",
    )
    done = run("collect", "--once", "--json")
    assert json.loads(done.stdout) == {"records": 1, "minutes": 1, "sealed": 0, "days": 1}
    assert "wait" not in run("verify").stdout


def test_days_of_documents_that_wait_are_said_and_left_out(filled: Database, run: Callable[..., Any]) -> None:
    with filled.connect() as connection:
        connection.execute(
            "INSERT INTO rollup_dirty_days SELECT DISTINCT project, day FROM rollup_document_days"
        )
        connection.execute("UPDATE rollup_document_days SET retrieved = 9")
        connection.execute("UPDATE rollup_documents SET retrieved = 9 * retrieved")
    found = run("verify")
    assert (found.exit_code, found.stdout.splitlines()[0]) == (
        0,
        "1 day(s) of documents wait for `ragledger collect` and were left out",
    )
    assert json.loads(run("verify", "--json").stdout)["waiting_days"] == 1
    assert json.loads(run("collect", "--once", "--json").stdout)["days"] == 1
    assert "wait" not in run("verify").stdout


def test_sealed_minutes_are_said_in_one_line_a_project(filled: Database, run: Callable[..., Any]) -> None:
    with filled.connect() as connection:
        connection.execute(
            "INSERT INTO rollup_sealed SELECT 'a', '2026-03-01 09:00Z'::timestamptz + n * interval '1 minute'"
            " FROM generate_series(0, 1438, 2) AS n UNION ALL SELECT 'b', '2026-03-02 09:00Z'"
        )
    assert run("verify").stdout.splitlines()[:2] == [
        "a: 720 sealed minute(s) from 2026-03-01T09:00:00+00:00 to 2026-03-02T08:58:00+00:00 were left out",
        "b: 1 sealed minute(s) from 2026-03-02T09:00:00+00:00 to 2026-03-02T09:00:00+00:00 were left out",
    ]
    first, _ = json.loads(run("verify", "--json").stdout)["sealed"]
    assert first == {
        "project": "a",
        "first": "2026-03-01T09:00:00+00:00",
        "last": "2026-03-02T08:58:00+00:00",
        "minutes": 720,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--once", "--every", "15s"],
        ["--every", "soon"],
        ["--every", "0s"],
        ["--every", "nan"],
        ["--every", "1e12s"],
    ],
)
def test_how_to_collect_must_be_said(run: Callable[..., Any], arguments: list[str]) -> None:
    from ragledger.errors import ConfigError

    assert isinstance(run("collect", *arguments).exception, ConfigError)
