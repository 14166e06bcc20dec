"""`ragledger doctor`: counters of this host and of the table, what waits and for how long, and what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database
from integration.shipping import World, wait_until
from typer.testing import CliRunner

from ragledger import Ledger
from ragledger.cli.app import app
from ragledger.testing import make_search

pytestmark = pytest.mark.pg


@pytest.fixture
def doctor(database: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, dict[str, str]]]:
    """What it finds, by what it is about. The exit code is checked against the worst level."""

    def run(**environ: str) -> dict[str, dict[str, str]]:
        for name, value in {"DSN": database.dsn, **environ}.items():
            monkeypatch.setenv(f"RAGLEDGER_{name}", value)
        done = CliRunner().invoke(app, ["doctor", "--json"])
        found = json.loads(done.stdout)
        assert done.exit_code == int(any(finding["level"] == "problem" for finding in found)), done.output
        return {finding["about"]: finding for finding in found}

    return run


Doctor = Callable[..., dict[str, dict[str, str]]]


def test_what_waits_is_shown_with_its_age(database: Database, doctor: Doctor) -> None:
    journal = World(database).journal()
    journal.put(make_search(started_at=int((time.time() - 3600) * 1e6)))
    journal.put(make_search())
    backlog = doctor()["backlog"]
    assert backlog["level"] == "warning"
    assert backlog["found"] == "2 record(s) wait, the oldest for 60 min"
    assert "ragledger ship" in backlog["advice"]
    journal.release()


def test_what_a_dead_process_left_is_a_warning_and_a_live_backlog_is_not(
    database: Database, doctor: Doctor
) -> None:
    world = World(database)
    journal = world.journal()
    journal.put(make_search(started_at=int(time.time() * 1e6)))
    assert doctor()["backlog"]["level"] == "ok"
    journal.release()
    found = doctor()
    assert found["backlog"]["level"] == "warning"
    assert found["writers on this host"]["found"] == "0 live, 1 dead"
    world.ship()
    assert doctor()["backlog"]["found"] == "no record waits"


def test_what_died_inside_an_append_is_shown_here_and_then_from_the_table(
    database: Database, doctor: Doctor
) -> None:
    world = World(database)
    journal = world.journal()
    journal.put(make_search())
    assert journal.writer is not None
    journal.writer.state.attempted += 2
    journal.release()
    assert doctor()["unfinished"]["found"].startswith("2 record(s)")
    world.ship()
    found = doctor()
    assert "unfinished" not in found
    assert "2 never finished" in found["project test"]["found"]


def test_refusals_are_shown_from_the_journal_and_by_project_from_the_table(
    make_ledger: Callable[..., Ledger], database: Database, doctor: Doctor, tmp_path: Path
) -> None:
    journal = World(database).journal()
    journal.prepare()
    assert journal.writer is not None
    journal.writer.state.refuse("cap")
    (tmp_path / "none").write_text("")
    ledger = make_ledger(project="shop", journal_dir=tmp_path / "none", strict=False)
    with ledger.search() as search:
        search.candidates()
    wait_until(lambda: database.value("SELECT count(*) FROM writers WHERE refused <> '{}'") == 1)

    found = doctor()
    assert found["refused here, project test"]["found"] == "cap: 1"
    assert found["refused, project shop"]["found"] == "no_journal: 1"
    assert found["refused, project shop"]["level"] == "problem"
    assert "docs/operations.md" in found["refused, project shop"]["advice"]
    journal.release()


def test_a_journal_that_cannot_be_made_is_a_problem(doctor: Doctor, tmp_path: Path) -> None:
    assert doctor(JOURNAL_DIR=str(tmp_path / "not" / "yet"))["journal"]["level"] == "ok"
    (tmp_path / "none").write_text("")
    assert doctor(JOURNAL_DIR=str(tmp_path / "none"))["journal"]["level"] == "problem"


def test_a_writer_that_went_silent_with_records_left_is_named(database: Database, doctor: Doctor) -> None:
    world = World(database)
    journal = world.journal()
    journal.put(make_search())
    world.ship()
    assert doctor()["project test"]["level"] == "ok"
    with database.connect() as connection:
        connection.execute("UPDATE writers SET attempted = 5, last_seen_at = now() - interval '2 days'")
    found = doctor()["project test"]
    assert (found["level"], "4 record(s) not shipped" in found["found"]) == ("warning", True)
    assert "1 silent for a day" in found["found"]
    journal.release()


def test_it_says_how_records_are_written(doctor: Doctor) -> None:
    assert "a thread of the application" in doctor()["write"]["found"]
    assert "ship --follow" in doctor(SHIP="sidecar")["write"]["found"]
    assert "at most 250 ms" in doctor(SHIP="thread", WRITE="direct")["write"]["found"]


def test_a_user_that_may_only_record_is_told_so(
    make_login: Callable[..., str], database: Database, doctor: Doctor
) -> None:
    login = make_login(member_of=("ragledger_writer",))
    found: dict[str, Any] = doctor(DSN=f"{database.dsn} user={login}")
    assert found["role"]["level"] == "ok"
    assert found["table"]["found"] == "this user may not read its counters"
