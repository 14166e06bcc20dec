"""The counters that survive their process, and the lock that says whether it lives."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ragledger.ids import new_id
from ragledger.journal.directory import lock_path
from ragledger.journal.state import REASONS, Identity, WriterState, lock_is_free

WHO = Identity(project="test", host="here")


@pytest.fixture
def state(tmp_path: Path) -> WriterState:
    writer = new_id()
    return WriterState.create(lock_path(tmp_path, writer.hex), writer, WHO, 1_700_000_000_000_000)


def test_a_state_file_says_who_its_writer_is(state: WriterState) -> None:
    seen = WriterState.peek(state.path)
    assert seen is not None
    assert (seen.writer_id, seen.identity, seen.pid) == (state.writer_id, WHO, os.getpid())
    assert seen.started_at == 1_700_000_000_000_000
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o600


def test_counters_are_seen_by_others_at_once(state: WriterState) -> None:
    seen = WriterState.peek(state.path)
    assert seen is not None
    state.attempted, state.published, state.shipped = 7, 2**40, 5
    for reason in REASONS:
        state.refuse(reason)
    state.refuse("cap")
    assert (seen.attempted, seen.published, seen.shipped) == (7, 2**40, 5)
    assert seen.refused == dict.fromkeys(REASONS, 1) | {"cap": 2}


def test_p5_counters_survive_kill_9(tmp_path: Path) -> None:
    writer = new_id()
    path = lock_path(tmp_path, writer.hex)
    code = f"""
import os, signal
from pathlib import Path
from uuid import UUID
from ragledger.journal.state import Identity, WriterState
state = WriterState.create(Path({str(path)!r}), UUID({str(writer)!r}), Identity(project="p", host="h"), 1)
state.attempted, state.published = 12, 11
state.refuse("no_space")
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    adopted = WriterState.adopt(path)
    assert adopted is not None
    assert (adopted.attempted, adopted.published, adopted.refused) == (12, 11, {"no_space": 1})


def test_a_counter_is_never_seen_half_written(state: WriterState) -> None:
    """`struct` writes a zero first: a reader, or a kill, between the bytes would see a number that never was."""
    low, high = 2**32 - 1, 2**33
    state.published = low
    code = f"""
import mmap, os
fd = os.open({str(state.path)!r}, os.O_RDWR)
look = memoryview(mmap.mmap(fd, 4096)).cast("Q")
print("looking", flush=True)
seen = set()
while len(seen) < 3 and look[7] == 0:
    seen.update([look[6] for _ in range(1000)])
print(sorted(seen), flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        for _ in range(300_000):
            state.published = high
            state.published = low
        state.shipped = 1
        assert reader.stdout.read() == f"{[low, high]}\n"


def test_the_last_counters_can_be_read_after_close(state: WriterState) -> None:
    state.published = 3
    state.close()
    state.close()
    assert (state.published, state.refused) == (3, {})


def test_a_writer_is_not_adopted_while_it_lives(state: WriterState) -> None:
    assert WriterState.adopt(state.path) is None
    assert not lock_is_free(state.path)
    state.close()
    assert lock_is_free(state.path)
    adopted = WriterState.adopt(state.path)
    assert adopted is not None
    assert WriterState.adopt(state.path) is None, "adopted twice"


def test_liveness_is_the_lock_and_never_the_pid(state: WriterState) -> None:
    """The pid in the file is this very process, alive: it could as well be a stranger's that got the number."""
    state.close()
    adopted = WriterState.adopt(state.path)
    assert adopted is not None
    assert adopted.pid == os.getpid()


def test_opening_a_lock_file_elsewhere_in_the_process_does_not_free_it(state: WriterState) -> None:
    """POSIX record locks are lost when the same process closes any descriptor of the file."""
    seen = WriterState.peek(state.path)
    assert seen is not None
    seen.close()
    state.path.read_bytes()
    assert not lock_is_free(state.path)


def test_a_file_that_was_removed_between_open_and_lock_is_not_adopted(
    state: WriterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.close()
    flock = fcntl.flock

    def last_adopter_was_faster(fd: int, operation: int) -> None:
        state.path.unlink()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", last_adopter_was_faster)
    before = len(os.listdir("/proc/self/fd"))
    assert WriterState.adopt(state.path) is None
    assert len(os.listdir("/proc/self/fd")) == before


def test_another_file_in_its_place_is_not_adopted_under_the_old_lock(
    state: WriterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.close()
    flock = fcntl.flock

    def replaced(fd: int, operation: int) -> None:
        data = state.path.read_bytes()
        state.path.unlink()
        state.path.write_bytes(data)
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", replaced)
    assert WriterState.adopt(state.path) is None


@pytest.mark.parametrize("content", [b"", b"RGLSTATE", bytes(4096), b"\xff" * 4096], ids=len)
def test_what_is_no_state_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strange.lock"
    path.write_bytes(content)
    before = len(os.listdir("/proc/self/fd"))
    assert WriterState.peek(path) is None
    assert WriterState.adopt(path) is None
    assert len(os.listdir("/proc/self/fd")) == before
    assert path.read_bytes() == content


def test_a_state_file_is_visible_only_when_it_is_locked_and_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    rename = os.rename

    def look_then_rename(source: Path, target: Path) -> None:
        assert not target.exists()
        assert not lock_is_free(source)
        seen.append(True)
        rename(source, target)

    monkeypatch.setattr(os, "rename", look_then_rename)
    writer = new_id()
    WriterState.create(lock_path(tmp_path, writer.hex), writer, WHO, 1)
    assert seen


def test_a_state_file_that_cannot_be_made_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    before = len(os.listdir("/proc/self/fd"))
    writer = new_id()
    with pytest.raises(OSError, match="No space"):
        WriterState.create(lock_path(tmp_path, writer.hex), writer, WHO, 1)
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_holds_neither_its_parents_lock_nor_one_that_the_parent_adopted(
    state: WriterState, tmp_path: Path
) -> None:
    dead = new_id()
    WriterState.create(lock_path(tmp_path, dead.hex), dead, WHO, 1).close()
    adopted = WriterState.adopt(lock_path(tmp_path, dead.hex))
    assert adopted is not None
    leave, stay = os.pipe()
    is_up, says_up = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(stay)
        os.write(says_up, b"!")
        os.read(leave, 1)
        os._exit(0)
    os.close(leave)
    os.read(is_up, 1)
    try:
        assert not lock_is_free(state.path), "the child released its parent's lock"
        assert not lock_is_free(adopted.path)
        state.close()
        adopted.close()
        assert lock_is_free(state.path), "the child keeps its dead parent from being adopted"
        assert lock_is_free(adopted.path)
    finally:
        os.close(stay)
        os.waitpid(child, 0)
