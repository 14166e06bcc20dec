"""Where journals live, who may look, and which application shares one with which."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ragledger.errors import ConfigError
from ragledger.journal import directory as files

SAME = [
    "postgresql://db.example/app",
    "postgres://db.example/app",
    "postgresql://db.example:5432/app",
    "postgresql://ana@db.example/app",
    "postgresql://ana:secret@db.example/app",
    "postgresql://bob:p%40ss%2Fword@db.example/app?sslmode=require",
    "postgresql:///app?host=db.example",
    "postgresql:///?host=db.example&dbname=app",
    "host=db.example dbname=app",
    "host = 'db.example'  dbname = 'app' port=5432",
    "user=ana password='host=other dbname=other' host=db.example dbname=app",
]


@pytest.mark.parametrize("dsn", SAME)
def test_one_target_whatever_the_form_the_user_and_the_password(dsn: str) -> None:
    assert files.target_of(dsn, "ragledger", {}) == files.target_of(SAME[0], "ragledger", {})


OTHERS = [
    "postgresql://other.example/app",
    "postgresql://db.example:5433/app",
    "postgresql://db.example/other",
    "postgresql://db.example,db2.example/app",
    "postgresql://[::1]/app",
    "postgresql://[::1]:5433/app",
    "postgresql:///app?host=/var/run/postgresql",
    "host=/var/run/postgresql2 dbname=app",
    "service=production",
    "service=staging",
    "postgresql://ana@db.example",
    "postgresql://bob@db.example",
    "user=carl host=db.example",
    "",
]


def test_different_targets_never_share_a_journal() -> None:
    names = [files.target_of(dsn, "ragledger", {}) for dsn in [SAME[0], *OTHERS]]
    assert len(set(names)) == len(names)
    assert files.target_of(SAME[0], "other_schema", {}) not in names


@pytest.mark.parametrize(
    ("dsn", "environ", "same_as"),
    [
        ("", {"PGHOST": "db.example", "PGDATABASE": "app"}, SAME[0]),
        ("host=db.example", {"PGDATABASE": "app"}, SAME[0]),
        ("dbname=app", {"PGHOST": "db.example", "PGPORT": "5433"}, "postgresql://db.example:5433/app"),
        ("host=db.example", {"PGUSER": "app"}, SAME[0]),
        ("postgresql://db.example/app", {"PGHOST": "other", "PGPORT": "5432", "PGDATABASE": "o"}, SAME[0]),
        ("postgresql://app@db.example", {"PGUSER": "other"}, SAME[0]),
        ("", {"PGSERVICE": "production"}, "service=production"),
    ],
)
def test_what_libpq_takes_from_the_environment_counts(
    dsn: str, environ: dict[str, str], same_as: str
) -> None:
    assert files.target_of(dsn, "ragledger", environ) == files.target_of(same_as, "ragledger", {})


def test_a_service_and_a_user_is_not_the_same_as_another_service() -> None:
    here, there = ("service=production user=app", "service=staging user=app")
    assert files.target_of(here, "ragledger", {}) != files.target_of(there, "ragledger", {})


def test_a_target_reveals_neither_host_nor_password() -> None:
    name = files.target_of("postgresql://ana:secret@db.example/app", "ragledger", {})
    assert len(name) == 16
    assert set(name) <= set("0123456789abcdef")


def test_a_dsn_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="neither a postgresql:// URI"):
        files.target_of("mysql://db/app", "ragledger", {})


def test_p9_a_directory_is_private_from_the_start(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        made = files.open_directory(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_p9_a_directory_that_others_could_enter_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    files.open_directory(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(PermissionError, match="another user"):
        files.open_directory(tmp_path)


def test_a_file_in_the_way_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(OSError, match="exists"):
        files.open_directory(path)


def test_segments_come_in_order_and_only_those_of_the_writer(tmp_path: Path) -> None:
    mine, other = "a" * 32, "b" * 32
    for n in (10, 2, 99_999_999):
        files.segment_path(tmp_path, mine, n).write_bytes(b"")
    files.segment_path(tmp_path, other, 1).write_bytes(b"")
    for name in (f"{mine}-x.seg", f"{mine}-00000001.seg.tmp", f"{mine}.lock"):
        (tmp_path / name).write_bytes(b"")
    assert [n for n, _ in files.segments(tmp_path, mine)] == [2, 10, 99_999_999]


def test_the_size_counts_segments_of_every_writer_and_nothing_else(tmp_path: Path) -> None:
    files.segment_path(tmp_path, "a" * 32, 1).write_bytes(bytes(100))
    files.segment_path(tmp_path, "b" * 32, 1).write_bytes(bytes(50))
    files.lock_path(tmp_path, "a" * 32).write_bytes(bytes(4096))
    assert files.size_of(tmp_path) == 150


@pytest.mark.parametrize("allocates", [True, False], ids=["posix_fallocate", "macOS"])
def test_reserved_space_is_there_and_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allocates: bool
) -> None:
    if not allocates:
        monkeypatch.delattr(os, "posix_fallocate")
    size = 3 * (1 << 16) + 17
    with (tmp_path / "file").open("w+b") as file:
        files.reserve(file.fileno(), size)
        assert file.read() == bytes(size)
        assert os.fstat(file.fileno()).st_blocks * 512 >= size


def test_what_a_process_left_that_died_while_it_made_its_lock_file_is_swept_away(tmp_path: Path) -> None:
    old, young, lock = tmp_path / "a.new", tmp_path / "b.new", tmp_path / "c.lock"
    for path in (old, young, lock):
        path.write_bytes(b"")
    for path in (old, lock):
        os.utime(path, (0, 0))
    files.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == [young, lock]
