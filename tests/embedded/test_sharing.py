from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from embedded.world import HOLD, running, users, wait_until, wait_until_gone

from ragledger.embedded import EmbeddedServer, status
from ragledger.errors import EmbeddedError


def test_four_simultaneous_first_starts_share_one_server(base: Path) -> None:
    with users(base, 4) as four:
        dsns = {user.dsn() for user in four}
        assert len(dsns) == 1
        assert len(running(base).keepers) == 1
        facts = status(base)
        with psycopg.connect(dsns.pop()) as connection:
            assert connection.execute("SELECT current_database(), current_user").fetchone() == (
                "ragledger",
                "postgres",
            )
        assert facts["postgres_pid"] in running(base).postgres
        for user in four:
            user.leave()
    wait_until_gone(base)


def test_a_killed_user_does_not_stop_the_others(used_base: Path) -> None:
    with users(used_base) as [first]:
        first.dsn()
        with EmbeddedServer.acquire(used_base, throwaway=True) as server:
            pid = status(used_base)["postgres_pid"]
            first.kill()
            time.sleep(0.4)
            with psycopg.connect(server.dsn) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
            assert status(used_base)["postgres_pid"] == pid
    wait_until_gone(used_base)


def test_last_release_stops_the_server(used_base: Path) -> None:
    one = EmbeddedServer.acquire(used_base, throwaway=True)
    two = EmbeddedServer.acquire(used_base, throwaway=True)
    one.release()
    time.sleep(0.3)
    assert status(used_base)["running"]
    two.release()
    wait_until_gone(used_base)
    wait_until(lambda: status(used_base)["state"] == "stopped")
    assert not (used_base / "run" / ".s.PGSQL.5432").exists()


def test_release_twice_is_release_once_and_the_server_can_be_acquired_again(used_base: Path) -> None:
    server = EmbeddedServer.acquire(used_base, throwaway=True)
    server.release()
    server.release()
    with EmbeddedServer.acquire(used_base, throwaway=True) as again:  # while the first one is being stopped
        assert again.dsn == server.dsn
        with psycopg.connect(again.dsn) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_last_user_killed_while_the_server_starts_leaves_nothing_running(base: Path) -> None:
    with users(base) as [only]:
        wait_until(lambda: running(base).keepers)
        only.kill()
    wait_until_gone(base)


def test_output_pipe_closes(used_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cmd | cat` ends with the command although the keeper goes on."""
    monkeypatch.setenv("RAGLEDGER_EMBEDDED_LINGER_S", "600")
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" "$2" </dev/null 2>&1 | cat', sys.executable, HOLD, str(used_base)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("ready ")
    assert running(used_base).keepers
    os.kill(running(used_base).keepers[0], signal.SIGTERM)
    wait_until_gone(used_base)


def test_linger_keeps_the_server_for_the_next_user(used_base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLEDGER_EMBEDDED_LINGER_S", "3")
    EmbeddedServer.acquire(used_base, throwaway=True).release()
    pid = status(used_base)["postgres_pid"]
    time.sleep(0.4)
    with EmbeddedServer.acquire(used_base, throwaway=True):
        assert status(used_base)["postgres_pid"] == pid
    assert wait_until_gone(used_base) > 1


def test_a_linger_that_is_no_number_is_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLEDGER_EMBEDDED_LINGER_S", "soon")
    with pytest.raises(
        EmbeddedError, match="RAGLEDGER_EMBEDDED_LINGER_S must be a number of seconds, not 'soon'"
    ):
        EmbeddedServer.acquire(base)


def test_status_of_a_base_that_does_not_exist_says_stopped_and_makes_nothing(base: Path) -> None:
    facts = status(base)
    assert (facts["state"], facts["running"], facts["version"], facts["users"]) == (
        "stopped",
        False,
        None,
        None,
    )
    assert not base.exists()


def test_a_lease_cannot_be_pickled_into_another_process(used_base: Path) -> None:
    with (
        EmbeddedServer.acquire(used_base, throwaway=True) as server,
        pytest.raises(TypeError, match="acquire one there"),
    ):
        pickle.dumps(server)


def test_waiting_ends_at_the_deadline_with_the_reason(base: Path) -> None:
    with pytest.raises(
        EmbeddedError, match=r"did not answer within 0\.05 s: it is still starting; see .*server\.log"
    ):
        EmbeddedServer.acquire(base, throwaway=True, timeout_s=0.05)
    wait_until_gone(base)
