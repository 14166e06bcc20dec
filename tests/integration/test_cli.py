"""The command line: exit codes, one clear line per error, help with an example, and what `init` and `tail` say."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import typer
from fix_pg import Database
from fix_roles import Bare
from psycopg.conninfo import make_conninfo

from ragledger import Candidate, Ledger
from ragledger.cli import main
from ragledger.cli.app import app

pytestmark = pytest.mark.pg

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
PASSWORD = "hunter2canary"


class Ran(NamedTuple):
    code: int | str | None
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs `ragledger ...` in this process."""
    monkeypatch.setenv("COLUMNS", "200")

    def ran(*args: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ragledger", *args])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Ran(left.value.code or 0, captured.out, captured.err)

    return ran


# --- help and usage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run: Callable[..., Ran], command: str) -> None:
    ran = run(command, "--help")

    assert ran.code == 0
    assert f"Example: ragledger {command}" in ran.out
    assert run(command, "-h") == ran


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_programs(run: Callable[..., Ran], command: str) -> None:
    assert "--json" in run(command, "--help").out


def test_help_lists_every_command(run: Callable[..., Ran]) -> None:
    assert {"init", "doctor", "tail", "measure", "ship", "demo"} <= set(COMMANDS)
    assert all(re.search(rf"^  {command}\s+\S", run("--help").out, re.MULTILINE) for command in COMMANDS)


def test_the_version_is_the_distributions(run: Callable[..., Ran]) -> None:
    ran = run("--version")

    assert ran.code == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", ran.out)


@pytest.mark.parametrize(
    "args", [["nonsense"], ["tail", "--nonsense"], ["tail", "-n", "0"], ["tail", "-n", "x"]]
)
def test_wrong_usage_is_exit_2(run: Callable[..., Ran], args: list[str]) -> None:
    ran = run(*args)

    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert "Error" in ran.err


# --- errors ------------------------------------------------------------------------------------------------

DATABASE_COMMANDS = [["init"], ["tail"], ["measure"], ["ship"]]


@pytest.mark.parametrize("command", DATABASE_COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("dsn", "says"),
    [
        ("nonsense", "the dsn is neither a postgresql:// URI nor a string like"),
        ("nonsense=1", "the dsn cannot be read"),
        (f"postgresql://ana:{PASSWORD}%zz@localhost/x", "the dsn cannot be read"),
        (f"postgresql://ana:{PASSWORD}@[::/x", "the dsn is a URI that cannot be read"),
        (f"postgresql://ana:{PASSWORD}@127.0.0.1:1/x", "nobody listens at that host and port"),
        (f"postgresql://ana:{PASSWORD}@no-such-host.invalid/x", "the host name is unknown"),
        ("host=/nowhere dbname=x", "there is no server socket at that place"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_clear_line_and_exit_2(
    run: Callable[..., Ran], command: list[str], dsn: str, says: str
) -> None:
    ran = run(*command, "--dsn", dsn)

    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert says in ran.err
    assert PASSWORD not in ran.err


@pytest.mark.parametrize("command", DATABASE_COMMANDS, ids=" ".join)
def test_no_dsn_at_all_says_what_to_set(run: Callable[..., Ran], command: list[str]) -> None:
    ran = run(*command)

    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "set RAGLEDGER_DSN" in ran.err


@pytest.mark.parametrize("command", [["tail"], ["measure"], ["ship"]], ids=" ".join)
def test_a_database_without_the_schema_says_to_run_init(
    run: Callable[..., Ran], empty_database: Database, command: list[str]
) -> None:
    ran = run(*command, "--dsn", empty_database.dsn)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "ragledger: there is no schema `ragledger` in this database; run `ragledger init`\n"


def test_a_missing_database_and_a_missing_user_are_told(run: Callable[..., Ran], database: Database) -> None:
    for wrong in ({"dbname": "no_such_db"}, {"user": "no_such_user"}):
        ran = run("init", "--dsn", make_conninfo(database.dsn, **wrong))
        assert (ran.code, is_one_line(ran.err)) == (2, True)
        assert "no such database or user" in ran.err


def test_a_name_that_is_no_schema_name_is_refused(run: Callable[..., Ran], database: Database) -> None:
    ran = run("init", "--dsn", database.dsn, "--schema", "Tele metry")

    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert "schema must be" in ran.err


def test_a_query_that_the_database_ends_is_one_clear_line(
    run: Callable[..., Ran], database: Database
) -> None:
    with database.connect() as connection:
        connection.execute("DROP VIEW current_votes")
    ran = run("tail", "--dsn", database.dsn)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "ragledger: the database gave up on a query (UndefinedTable)\n"


def test_the_installed_program_leaves_with_the_code_and_without_a_traceback() -> None:
    program = Path(sys.executable).with_name("ragledger")
    ran = subprocess.run([program, "tail"], capture_output=True, text=True, timeout=60, check=False)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert is_one_line(ran.stderr)


def test_ctrl_c_is_exit_130_and_not_a_failed_check(database: Database) -> None:
    program = Path(sys.executable).with_name("ragledger")
    with database.connect() as blocker, blocker.transaction():
        blocker.execute("LOCK TABLE searches")
        started = subprocess.Popen(
            [program, "tail", "--dsn", database.dsn],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        waiting = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'"""
        while not database.value(waiting):
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=30)

    assert (started.returncode, out) == (130, "")
    assert "Traceback" not in err


# --- init --------------------------------------------------------------------------------------------------


def test_init_makes_the_schema_and_says_so(
    run: Callable[..., Ran], empty_database: Database, tmp_path: Path
) -> None:
    first = run("init", "--dsn", empty_database.dsn)
    second = run("init", "--dsn", empty_database.dsn)

    assert first == Ran(
        0, "schema `ragledger` is at version 6 (applied version 1, 2, 3, 4, 5, 6); group roles: granted\n", ""
    )
    assert second == Ran(0, "schema `ragledger` is at version 6 (nothing to do); group roles: granted\n", "")
    key = tmp_path / "config" / "ragledger" / "key"
    assert key.stat().st_mode & 0o777 == 0o600


def test_init_answers_programs_in_json(run: Callable[..., Ran], empty_database: Database) -> None:
    first = run("init", "--json", "--no-roles", "--dsn", empty_database.dsn, "--schema", "telemetry")
    second = run("init", "--json", "--dsn", empty_database.dsn, "--schema", "telemetry")

    answer = {
        "schema": "telemetry",
        "version": 6,
        "applied": [1, 2, 3, 4, 5, 6],
        "roles": "skipped",
        "texts": False,
    }
    assert json.loads(first.out) == answer
    assert json.loads(second.out) == answer | {"applied": [], "roles": "granted"}
    assert (first.code, first.err, second.code, second.err) == (0, "", 0, "")


def test_init_takes_the_dsn_from_the_environment(
    run: Callable[..., Ran], empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGLEDGER_DSN", empty_database.dsn)
    monkeypatch.setenv("RAGLEDGER_SCHEMA", "telemetry")

    assert "schema `telemetry` is at version 6" in run("init").out


def test_init_without_the_right_to_make_roles_goes_on_and_says_what_to_do(
    run: Callable[..., Ran], bare: Bare
) -> None:
    database = bare.database(owner=bare.login())
    ran = run("init", "--dsn", database.dsn)
    demanded = run("init", "--roles", "--dsn", database.dsn)

    assert (ran.code, ran.out) == (
        0,
        "schema `ragledger` is at version 6 (applied version 1, 2, 3, 4, 5, 6); group roles: not permitted\n",
    )
    assert "run `ragledger init --roles` once as a superuser" in ran.err
    assert (demanded.code, demanded.out, is_one_line(demanded.err)) == (2, "", True)
    assert "may not make the group roles" in demanded.err


def test_init_without_rights_is_one_clear_line(run: Callable[..., Ran], bare: Bare) -> None:
    database = bare.database()
    ran = run("init", "--dsn", make_conninfo(database.dsn, user=bare.login()))

    assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
    assert "run `ragledger init` as the database's owner" in ran.err


def test_init_refuses_a_newer_schema(run: Callable[..., Ran], database: Database) -> None:
    with database.connect() as connection:
        connection.execute("INSERT INTO schema_migrations (version, name) VALUES (99, 'of the future')")
    ran = run("init", "--dsn", database.dsn)

    assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
    assert "version 99, newer than this release knows (6); upgrade ragledger" in ran.err


# --- tail --------------------------------------------------------------------------------------------------


@pytest.fixture
def searched(ledger: Ledger) -> list[str]:
    """An ok search with a vote, a failed one, a skip: their ids, oldest first."""
    with ledger.search(corpus="handbook", surface="study", retriever="Hybrid") as found:
        found.candidates(Candidate("a", score=0.9), Candidate("b", score=0.1, admitted=False))
        found.degrade("embedding_unavailable", vector_available=False)
    with pytest.raises(TimeoutError), ledger.search(corpus="handbook") as failed:
        raise TimeoutError
    skipped = ledger.skip(reason="no_goal")
    assert found.receipt.search_id is not None
    ledger.vote(found.receipt.search_id, "a", "relevant", actor="human:ana")
    assert ledger.flush()
    return [str(found.receipt.search_id), str(failed.receipt.search_id), str(skipped.search_id)]


def test_tail_shows_the_latest_searches_newest_last(
    run: Callable[..., Ran], database: Database, searched: list[str]
) -> None:
    ran = run("tail", "--dsn", database.dsn)

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line.split()[1] for line in lines] == searched
    assert re.fullmatch(
        rf"\d\d:\d\d:\d\d\.\d+  {searched[0]}  test/handbook/study  Hybrid  ok  1/2 admitted  [\d.]+ ms  votes 1"
        r"  degraded: embedding_unavailable",
        lines[0],
    )
    assert "error (TimeoutError)  - admitted" in lines[1]
    assert "test/-/-  application  skipped (no_goal)  - admitted  -  votes 0" in lines[2]


def test_tail_takes_a_count(run: Callable[..., Ran], database: Database, searched: list[str]) -> None:
    ran = run("tail", "-n", "2", "--dsn", database.dsn)

    assert [line.split()[1] for line in ran.out.splitlines()] == searched[1:]


def test_tail_answers_programs_in_json(
    run: Callable[..., Ran], database: Database, searched: list[str]
) -> None:
    ran = run("tail", "--json", "--dsn", database.dsn)

    rows = json.loads(ran.out)
    assert [row["search_id"] for row in rows] == searched
    assert [row["status"] for row in rows] == ["ok", "error", "skipped"]
    assert [row["votes"] for row in rows] == [1, 0, 0]
    assert rows[1]["error_type"] == "TimeoutError"
    assert rows[2]["latency_ms"] is None  # unknown, not 0


def test_tail_of_nothing_says_so_and_is_no_failure(run: Callable[..., Ran], database: Database) -> None:
    assert run("tail", "--dsn", database.dsn) == Ran(0, "", "no searches yet\n")
    assert run("tail", "--json", "--dsn", database.dsn) == Ran(0, "[]\n", "")


def is_one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.startswith("ragledger: ") and len(click.unstyle(text)) < 300
