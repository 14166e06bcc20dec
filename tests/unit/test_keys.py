"""The key: given, or made once per host in a private file that nobody can read half-written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragledger.errors import ConfigError
from ragledger.keys import load_key

ROOT = os.geteuid() == 0


def test_a_given_key_is_used_and_no_file_is_made(tmp_path: Path):
    assert load_key(b"k" * 16, tmp_path / "home") == b"k" * 16
    assert load_key(b"k" * 100, tmp_path / "home") == b"k" * 64
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("given", [b"", b"k" * 15])
def test_a_short_key_is_refused(tmp_path: Path, given: bytes):
    with pytest.raises(ConfigError, match="at least 16 bytes"):
        load_key(given, tmp_path)


def test_the_file_is_made_once_and_private(tmp_path: Path):
    home = tmp_path / "a" / "b"
    key = load_key(None, home)
    assert len(key) == 64
    assert load_key(None, home) == key == (home / "key").read_bytes()
    assert (home / "key").stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700
    assert os.listdir(home) == ["key"]
    assert load_key(None, tmp_path / "other") != key


def test_a_file_made_by_hand_may_end_in_a_line_break(tmp_path: Path):
    (tmp_path / "key").write_bytes(b"0123456789abcdef0123456789abcdef\n")
    (tmp_path / "key").chmod(0o400)
    assert load_key(None, tmp_path) == b"0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int):
    load_key(None, tmp_path)
    (tmp_path / "key").chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(None, tmp_path)


@pytest.mark.skipif(not ROOT, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path):
    load_key(None, tmp_path)
    os.chown(tmp_path / "key", 65534, 65534)
    with pytest.raises(ConfigError, match="belong to this user"):
        load_key(None, tmp_path)


@pytest.mark.parametrize("content", [b"", b"short", b"  \n"])
def test_a_file_with_too_little_in_it_is_refused_and_kept(tmp_path: Path, content: bytes):
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(ConfigError, match="too short"):
        load_key(None, tmp_path)
    assert (tmp_path / "key").read_bytes() == content


def test_what_is_no_file_is_refused_in_one_clear_line(tmp_path: Path):
    (tmp_path / "key").mkdir(mode=0o700)
    with pytest.raises(ConfigError, match=r"cannot be read \(IsADirectoryError\); set RAGLEDGER_KEY"):
        load_key(None, tmp_path)
    (tmp_path / "home").touch()
    with pytest.raises(ConfigError, match="NotADirectoryError"):
        load_key(None, tmp_path / "home")


def test_where_no_file_can_be_made_the_key_lives_as_long_as_the_process(tmp_path: Path):
    home = Path("/proc/self/nowhere")  # read-only, for root too
    assert len(load_key(None, home)) == 64
    assert load_key(None, home) != load_key(None, home)


def test_threads_that_race_for_the_first_key_agree(tmp_path: Path):
    barrier = threading.Barrier(8, timeout=30)

    def load(number: int) -> bytes:
        barrier.wait()
        return load_key(None, tmp_path / str(number // 8))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load, range(80)))
    assert [len(set(found[start : start + 8])) for start in range(0, 80, 8)] == [1] * 10
    assert {name for home in tmp_path.iterdir() for name in os.listdir(home)} == {"key"}


RACER = """
import sys
from pathlib import Path
from ragledger.keys import load_key
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    sys.stdout.write(load_key(None, Path(line.strip())).decode() + "\\n"); sys.stdout.flush()
"""


def test_two_processes_that_race_for_the_first_key_agree(tmp_path: Path):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for number in range(50):
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"{tmp_path / str(number)}\n")
            for racer in racers:
                racer.stdin.flush()  # type: ignore[union-attr]
            keys = {racer.stdout.readline().strip() for racer in racers}  # type: ignore[union-attr]
            assert keys == {(tmp_path / str(number) / "key").read_text()}
    finally:
        for racer in racers:
            racer.communicate()
    assert [racer.returncode for racer in racers] == [0, 0]
