"""`ragledger collect --every`: works until it is told to stop, and the one that waits takes over when it is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from collector_world import arrive, verified
from fix_pg import Database
from integration.shipping import RAGLEDGER, wait_until
from measures.table_rows import START, TableRows, hit
from prometheus_client.parser import text_string_to_metric_families
from psycopg.conninfo import make_conninfo

from ragledger_collector import arrivals

pytestmark = [pytest.mark.pg, pytest.mark.processes]


def start(database: Database, *options: str, dsn: str | None = None, **environ: str) -> subprocess.Popen[str]:
    command = [*RAGLEDGER, "collect", "--every", "0.1s", "--dsn", dsn or database.dsn, *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ) | environ
    )


def searches(database: Database) -> int:
    return int(database.value("SELECT coalesce(sum(searches), 0) FROM rollup_searches WHERE grain = 'day'"))


def test_the_one_that_waits_takes_over_from_the_one_that_was_killed(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        rows.search(hit(), started_at=START)
        arrive(connection, rows)
        first = start(database)
        second = None
        try:
            wait_until(lambda: searches(database) == 1)
            second = start(database)
            assert second.stderr is not None
            assert "another collector is at work" in second.stderr.readline()
            once = subprocess.run(
                [*RAGLEDGER, "collect", "--once", "--dsn", database.dsn],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (once.returncode, once.stdout) == (2, "")
            first.kill()
            rows.search(hit(), started_at=START + timedelta(minutes=5))
            arrive(connection, rows)
            wait_until(lambda: searches(database) == 2)
            assert "at work" in second.stderr.readline()
            second.send_signal(signal.SIGTERM)
            assert second.wait(60) == 0
        finally:
            for process in (first, second):
                if process is not None:
                    process.kill()
                    process.communicate()
    found = verified(database)
    assert found.differing == ()


def test_it_is_ready_when_it_is_the_one_at_work_and_no_more_when_it_ends(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, address = tmp_path / "ready", str(tmp_path / "notify")
    file.touch()  # of an earlier life
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, database.connect() as other:
        systemd.bind(address)
        systemd.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        assert other.execute(arrivals.query("lock")).fetchone() == (True,)
        process = start(database, "--ready-file", str(file))
        try:
            assert process.stderr is not None
            assert "another collector is at work" in process.stderr.readline()
            assert not file.exists()
            other.close()
            assert systemd.recv(100) == b"READY=1"
            wait_until(file.exists)
            process.send_signal(signal.SIGTERM)
            assert systemd.recv(100) == b"STOPPING=1"
            assert process.wait(60) == 0
            assert not file.exists()
        finally:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    ("group", "setting", "said"),
    [
        ("ragledger_reader", None, "GRANT ragledger_collector TO it"),
        ("ragledger_collector", "default_transaction_read_only = on", "ReadOnlySqlTransaction"),
    ],
)
def test_one_that_can_do_nothing_is_not_ready_and_says_once_why(
    make_login: Callable[..., str],
    database: Database,
    tmp_path: Path,
    group: str,
    setting: str | None,
    said: str,
) -> None:
    login, file, address = make_login(member_of=(group,)), tmp_path / "ready", str(tmp_path / "notify")
    dsn = make_conninfo(database.dsn, user=login)
    rows = TableRows()
    rows.search(hit(), started_at=START)
    with database.connect() as connection:
        arrive(connection, rows)
        if setting is not None:
            connection.execute(f"ALTER ROLE {login} SET {setting}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        process = start(database, "--ready-file", str(file), dsn=dsn, NOTIFY_SOCKET=address)
        try:
            assert process.stderr is not None
            assert said in process.stderr.readline()
            time.sleep(1)  # several passes
            assert not file.exists()
            process.send_signal(signal.SIGTERM)
            assert (process.wait(60), process.stderr.read()) == (0, "")
            assert systemd.recv(100) == b"STOPPING=1"
        finally:
            process.kill()
            process.communicate()
    once = subprocess.run(
        [*RAGLEDGER, "collect", "--once", "--dsn", dsn], capture_output=True, text=True, check=False
    )
    assert (once.returncode, once.stdout) == (2, "")
    assert said in once.stderr


def test_it_is_ready_no_more_while_passes_fail(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "ready"
    with database.connect() as connection:
        process = start(database, "--ready-file", str(file))
        try:
            wait_until(file.exists)
            connection.execute("REVOKE SELECT ON writers FROM ragledger_collector")
            wait_until(lambda: not file.exists())
            connection.execute("GRANT SELECT ON writers TO ragledger_collector")
            wait_until(file.exists)
        finally:
            process.kill()
            process.communicate()


def test_a_signal_ends_it_after_the_step_at_hand(database: Database) -> None:
    rows = TableRows()
    for project in ("a", "b"):  # a step is about one project
        rows.search(hit(), project=project, started_at=START)
    with database.connect() as connection:
        arrive(connection, rows)
        with connection.transaction():
            connection.execute("LOCK TABLE rollup_searches IN SHARE MODE")
            process = start(database)
            try:
                wait_until(lambda: database.value(_WAITING) > 0)
                process.send_signal(signal.SIGTERM)
            except BaseException:
                process.kill()
                raise
    try:
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
    assert searches(database) == 1
    assert database.rows("SELECT DISTINCT project FROM rollup_dirty") == [("b",)]


def test_a_long_pass_says_how_much_is_left_and_is_ready(database: Database, tmp_path: Path) -> None:
    """It hangs in its last minute, and has told before that."""
    file, page = tmp_path / "ready", f"127.0.0.1:{free_port()}"
    rows = TableRows()
    for number in range(300):
        rows.search(hit(), project=f"p{number:03}", started_at=datetime.now(timezone.utc))
    with database.connect() as connection:
        arrive(connection, rows)
        connection.execute("BEGIN")
        connection.execute(
            "INSERT INTO rollup_series (series_id, project, corpus, surface, has_session, actor_kind, epoch)"
            " SELECT md5(jsonb_build_array(project, corpus, surface, session_id IS NOT NULL, actor_kind, epoch)::text)::uuid,"
            " project, corpus, surface, session_id IS NOT NULL, actor_kind, epoch FROM searches WHERE project = 'p299'"
        )
        process = start(database, "--ready-file", str(file), "--prometheus", page)
        try:
            wait_until(lambda: database.value(_WAITING) > 0)
            told = scraped(page)
            assert told["ragledger_collector_waiting_minutes"] > 0
            assert told["ragledger_collector_backlog"] == 0
            assert told["ragledger_collector_lag_seconds"] > 0
            assert told["ragledger_table_records_total"] == 300
            assert "ragledger_searches" not in told, "what searches came to is not known yet"
            assert file.exists()
            connection.execute("ROLLBACK")
            wait_until(lambda: "ragledger_searches" in scraped(page))
            assert scraped(page)["ragledger_collector_waiting_minutes"] == 0
        finally:
            process.kill()
            process.communicate()


_WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def scraped(page: str) -> dict[str, float]:
    """The largest sample of each name."""
    with urllib.request.urlopen(f"http://{page}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        samples = [(one.name, one.value) for family in families for one in family.samples]
        return dict(sorted(samples, key=lambda one: one[1]))


def test_documents_that_fail_do_not_keep_minutes_waiting(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        connection.execute("REVOKE INSERT ON rollup_document_days FROM ragledger_collector")
        rows.search(hit(document_id="d"), started_at=START)
        arrive(connection, rows)
        process = start(database, "--json")
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert json.loads(process.stdout.readline()) == passed(records=1, minutes=1)
            assert "documents wait" in process.stderr.readline()
            connection.execute("GRANT INSERT ON rollup_document_days TO ragledger_collector")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert "waiting" in process.stderr.readline()
            assert "at work" in process.stderr.readline()
            rows.search(hit(document_id="d"), started_at=START)
            arrive(connection, rows)
            # Ten minutes are not over, also after a new connection.
            assert json.loads(process.stdout.readline()) == passed(records=1, minutes=1)
        finally:
            process.kill()
            process.communicate()


def passed(**counts: int) -> dict[str, int]:
    return {"records": 0, "minutes": 0, "sealed": 0, "days": 0, **counts}
