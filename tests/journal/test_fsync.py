"""When the disk has a record: whenever the system writes it back, within the interval, or before the receipt."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from integration.shipping import wait_until
from journal.disk import Disk, Mode, disk, make
from journal.doubles import PLENTY, left_behind
from journal.test_journal import names_left, record

from ragledger.journal import directory as files
from ragledger.journal.journal import Journal
from ragledger.journal.writer import JournalWriter

KB = 1024

__all__ = ["disk", "make"]  # the fixtures

pytestmark = pytest.mark.skipif(not hasattr(os, "fdatasync"), reason="fdatasync is what is looked at")


def test_none_syncs_nothing_at_all(make: Callable[[Mode], JournalWriter], disk: Disk) -> None:
    writer = make("none")
    for _ in range(100):
        writer.append(bytes(20 * KB))
        writer.prepare()
    writer.close()
    assert disk.calls == []


@pytest.mark.parametrize("mode", ["batch", "always"])
def test_the_name_of_every_new_file_is_synced(
    make: Callable[[Mode], JournalWriter], disk: Disk, mode: Mode, tmp_path: Path
) -> None:
    writer = make(mode)
    assert [path for _, path in disk.calls] == [files.lock_path(tmp_path, writer.writer_id.hex), tmp_path]
    disk.calls.clear()
    writer.prepare()
    assert [path for _, path in disk.calls] == [
        files.segment_path(tmp_path, writer.writer_id.hex, 1),
        tmp_path,
    ]


def test_batch_syncs_within_the_interval_and_never_in_the_callers_thread(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path / "journal", project="test", cap_bytes=PLENTY, fsync="batch")
    try:
        journal.prepare()
        disk.calls.clear()
        for count in range(1, 4):
            assert journal.put(record("x")) is None
            wait_until(lambda wanted=count: len(disk.synced(".seg")) >= wanted)  # type: ignore[misc]
            wait_until(lambda wanted=count: len(disk.synced(".lock")) >= wanted)  # type: ignore[misc]
        assert {thread for thread, _ in disk.calls} == {"ragledger-sync"}
    finally:
        journal.release()


def test_batch_keeps_its_interval_while_the_thread_that_ships_waits_for_a_database(
    tmp_path: Path, disk: Disk
) -> None:
    """Nobody tends or ships here at all."""
    journal = Journal(tmp_path / "journal", project="test", cap_bytes=PLENTY, fsync="batch")
    try:
        for _ in range(200):
            assert journal.put(record("x" * 5000)) is None
        writer = journal.writer
        assert writer is not None
        wait_until(lambda: writer._synced == 200)
        synced = {path.name for _, path in disk.calls if path.suffix == ".seg"}
        assert {path.name for _, path in files.segments(journal.directory, writer.writer_id.hex)} <= synced
    finally:
        journal.release()


def test_batch_syncs_a_segment_that_was_left_before_it_lets_go_of_it(
    make: Callable[[Mode], JournalWriter], disk: Disk
) -> None:
    writer = make("batch")
    for _ in range(30):
        writer.append(bytes(20 * KB))
    disk.calls.clear()
    assert len(writer._retired) == 1
    left = writer._retired[0].path
    writer.prepare()
    assert len(writer._retired) == 1, "closed unsynced"
    writer.sync()
    assert left in [path for _, path in disk.calls]
    assert writer._retired == []


def test_batch_asks_nothing_of_the_disk_when_nothing_is_new(
    make: Callable[[Mode], JournalWriter], disk: Disk
) -> None:
    writer = make("batch")
    writer.append(b"x")
    writer.sync()
    disk.calls.clear()
    writer.sync()
    assert disk.calls == []


@pytest.mark.parametrize("mode", ["batch", "always"])
def test_closing_leaves_nothing_that_the_disk_does_not_have(
    make: Callable[[Mode], JournalWriter], disk: Disk, mode: Mode
) -> None:
    writer = make(mode)
    for index in range(30):
        writer.append(b"%d" % index + bytes(20 * KB))
    paths = [path for _, path in files.segments(writer.directory, writer.writer_id.hex)]
    writer.close()
    assert set(paths) <= {path for _, path in disk.calls}
    assert len(left_behind(writer.directory, writer.writer_id)[0]) == 30


def test_batch_says_once_that_the_disk_fails_and_goes_on(
    tmp_path: Path, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path / "journal", project="test", cap_bytes=PLENTY, fsync="batch")
    try:
        assert journal.put(record("a")) is None
        writer = journal.writer
        assert writer is not None
        disk.failing = True
        assert journal.put(record("b")) is None
        wait_until(lambda: "could not be synced to disk (Input/output error)" in caplog.text)
        assert str(tmp_path) not in caplog.text
        assert journal.put(record("c")) is None
    finally:
        disk.failing = False
        journal.release()
    assert names_left(journal.directory, writer.writer_id) == ["a", "b", "c"]


@pytest.mark.parametrize("mode", ["batch", "always"])
def test_p5_a_kill_loses_nothing_in_any_mode(tmp_path: Path, mode: Mode) -> None:
    code = f"""
import os, signal
from pathlib import Path
from journal.test_journal import PLENTY, Journal, record
journal = Journal(Path({str(tmp_path)!r}), project="test", cap_bytes=PLENTY, fsync={mode!r})
for name in "abc":
    assert journal.put(record(name)) is None
print(journal.writer.writer_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_with_tests())
    assert done.returncode == -9, done.stderr
    assert names_left(tmp_path, UUID(done.stdout.strip())) == ["a", "b", "c"]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_of_a_syncing_process_syncs_by_itself(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", project="test", cap_bytes=PLENTY, fsync="batch")
    assert journal.put(record("parent")) is None
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert journal.put(record("child")) is None
            writer = journal.writer
            assert writer is not None
            wait_until(lambda: writer._synced == 1)
            code = 0
        finally:
            os._exit(code)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert journal.put(record("parent")) is None
    finally:
        writer = journal.release()
    assert writer is not None
    assert names_left(journal.directory, writer.writer_id) == ["parent", "parent"]


def test_the_thread_that_syncs_ends_with_its_writer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", project="test", cap_bytes=PLENTY, fsync="batch")
    journal.prepare()
    [thread] = [each for each in threading.enumerate() if each.name == "ragledger-sync"]
    journal.release()
    thread.join(60)
    assert not thread.is_alive()


def test_the_mode_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from ragledger.errors import ConfigError
    from ragledger.settings import Settings

    given: dict[str, Any] = {"RAGLEDGER_DSN": "host=nowhere", "RAGLEDGER_JOURNAL_FSYNC": "always"}
    assert Settings.from_env(given).journal_fsync == "always"
    assert Settings.from_env({"RAGLEDGER_DSN": "host=nowhere"}).journal_fsync == "none"
    with pytest.raises(ConfigError, match="journal_fsync"):
        Settings.from_env(given | {"RAGLEDGER_JOURNAL_FSYNC": "sometimes"})


def _with_tests() -> dict[str, str]:
    paths = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
