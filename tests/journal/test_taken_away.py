"""A journal that somebody deletes, moves or overwrites while a process records into it."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from journal.doubles import peek
from journal.test_journal import Journal, make_journal, names_left, record, writers

from ragledger.journal import directory as files

__all__ = ["make_journal"]  # the fixture


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.ERROR]


def test_p5_a_deleted_directory_is_noticed_counted_and_said_and_recording_goes_on(
    make_journal: Callable[..., Journal], caplog: pytest.LogCaptureFixture
) -> None:
    journal = make_journal()
    for name in "ab":
        journal.put(record(name))
    before = journal.writer
    assert before is not None
    shutil.rmtree(journal.directory)
    journal.put(record("c"))  # nobody has looked yet
    journal.tend()
    assert journal.writer is not before
    assert journal.put(record("d")) is None
    journal.tend()
    writer = journal.release()
    assert writer is not None
    assert writer.state.refused == {"lost": 3}
    assert names_left(journal.directory, writer.writer_id) == ["d"]
    [line] = errors(caplog)
    assert "3 record(s) that had a receipt are lost" in line
    assert str(journal.directory) not in line


def test_p5_a_deletion_that_is_met_in_the_middle_is_counted_as_well(
    make_journal: Callable[..., Journal],
) -> None:
    journal = make_journal()
    for name in "ab":
        journal.put(record(name))
    before = journal.writer
    assert before is not None
    before.state.path.unlink()  # the segments follow a little later
    segments = files.segments(journal.directory, before.writer_id.hex)
    later = threading.Timer(0.1, lambda: [path.unlink() for _, path in segments])
    later.start()
    journal.tend()
    later.join()
    assert journal.all_refused() == {"lost": 2}


def test_what_was_shipped_before_is_not_lost(make_journal: Callable[..., Journal]) -> None:
    journal = make_journal()
    for name in "abc":
        journal.put(record(name))
    assert journal.writer is not None
    reader = peek(journal.writer)
    batch = reader.next_batch(2)
    assert batch is not None
    reader.commit(batch)
    shutil.rmtree(journal.directory)
    journal.tend()
    assert journal.writer is not None
    assert journal.writer.state.refused == {"lost": 1}


def test_a_directory_that_stays_away_is_counted_in_memory_until_it_is_back(
    make_journal: Callable[..., Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragledger.journal import journal as module

    journal = make_journal(tmp_path / "volume")
    journal.put(record("a"))
    shutil.rmtree(tmp_path / "volume")
    (tmp_path / "volume").write_text("in the way")
    journal.tend()
    assert journal.writer is None
    assert journal.put(record("b")) == "no_journal"
    assert journal.refused == {"lost": 1, "no_journal": 1}
    (tmp_path / "volume").unlink()
    now = module.time.monotonic() + 6
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    assert journal.put(record("c")) is None
    assert journal.refused == {}
    assert journal.writer is not None
    assert journal.writer.state.refused == {"lost": 1, "no_journal": 1}, "they must survive the process now"


def test_a_directory_that_was_moved_has_lost_nothing(
    make_journal: Callable[..., Journal], tmp_path: Path
) -> None:
    journal = make_journal(tmp_path / "here")
    journal.put(record("a"))
    before = journal.writer
    assert before is not None
    (tmp_path / "here").rename(tmp_path / "there")
    journal.tend()
    assert journal.put(record("b")) is None
    after = journal.release()
    assert after is not None
    assert after.state.refused == {}
    assert names_left(tmp_path / "there", before.writer_id) == ["a"]
    assert names_left(tmp_path / "here", after.writer_id) == ["b"]


def test_a_lock_file_that_was_deleted_alone_costs_nothing(make_journal: Callable[..., Journal]) -> None:
    from ragledger.journal.salvage import mend

    journal = make_journal()
    journal.put(record("a"))
    before = journal.writer
    assert before is not None
    before.state.path.unlink()
    journal.tend()
    assert journal.put(record("b")) is None
    after = journal.release()
    assert after is not None
    assert after.state.refused == {}
    mend(journal.directory)
    assert sorted(writers(journal.directory)) == sorted([before.writer_id, after.writer_id])
    assert names_left(journal.directory, before.writer_id) == ["a"]


def test_segments_that_were_deleted_alone_are_noticed_and_their_numbers_accounted_for(
    make_journal: Callable[..., Journal],
) -> None:
    from journal.doubles import left_behind

    journal = make_journal()
    journal.put(record("a"))
    before = journal.writer
    assert before is not None
    files.segment_path(journal.directory, before.writer_id.hex, 1).unlink()
    journal.tend()
    assert journal.writer is not before
    assert left_behind(journal.directory, before.writer_id) == ([], [1]), "rejected as damaged"


def test_a_prepared_segment_that_was_deleted_takes_no_record(make_journal: Callable[..., Journal]) -> None:
    journal = make_journal()
    journal.put(record("a"))
    journal.tend()
    before = journal.writer
    assert before is not None
    files.segment_path(journal.directory, before.writer_id.hex, 2).unlink()
    journal.tend()
    for _ in range(20):
        assert journal.put(record("x" * 50_000)) is None
    left = [names_left(journal.directory, writer) for writer in _released(journal)]
    assert sorted(map(len, left)) == [1, 20]


def _released(journal: Journal) -> list[object]:
    journal.release()
    return list(writers(journal.directory))


def test_counters_that_were_overwritten_in_use_cost_no_record(make_journal: Callable[..., Journal]) -> None:
    from ragledger.journal.salvage import mend

    journal = make_journal()
    journal.put(record("a"))
    before = journal.writer
    assert before is not None
    with before.state.path.open("r+b") as file:
        file.write(b"\xff" * 4096)
    journal.tend()
    assert journal.put(record("b")) is None
    after = journal.release()
    assert after is not None
    mend(journal.directory)
    assert names_left(journal.directory, before.writer_id) == ["a"]
    assert names_left(journal.directory, after.writer_id) == ["b"]


def test_a_segment_that_a_shipper_removed_is_no_reason_to_start_anew(
    make_journal: Callable[..., Journal],
) -> None:
    journal = make_journal()
    for _ in range(30):
        journal.put(record("x" * 50_000))
        journal.tend()
    writer = journal.writer
    assert writer is not None
    reader = peek(writer)
    while (batch := reader.next_batch(5)) is not None:
        reader.commit(batch)
    journal.tend()
    assert journal.writer is writer


def test_looking_costs_the_caller_no_system_call(
    make_journal: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when a segment is full: the background makes the next one and takes the last one away."""
    journal = make_journal()
    journal.put(record("a"))
    journal.tend()

    def unexpected(*_: object, **__: object) -> None:
        raise AssertionError("a system call in the caller's thread")

    with monkeypatch.context() as patch:
        for name in ("open", "close", "stat", "fstat", "fsync", "fdatasync", "unlink", "scandir"):
            patch.setattr(os, name, unexpected)
        for _ in range(7):
            assert journal.put(record("x" * 50_000)) is None
    assert journal.writer is not None
    assert len(journal.writer._retired) == 1, "it was unmapped in the caller's thread"
    journal.tend()
    assert journal.writer._retired == []


def test_what_nobody_takes_away_is_bounded(make_journal: Callable[..., Journal]) -> None:
    """Where no background thread is left, after `close`, or where it hangs."""
    journal = make_journal()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(600):
        journal.put(record("x" * 50_000))
    assert len(os.listdir("/proc/self/fd")) <= before + 10
