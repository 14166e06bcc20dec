"""Mode `always`: a receipt for what the disk has, and for nothing else."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from integration.shipping import wait_until
from journal.disk import Disk, Mode, dirty_kb, disk, make, newest
from journal.doubles import drain, left_by, peek

from ragledger.journal.segment import Segment
from ragledger.journal.writer import JournalWriter

KB = 1024

__all__ = ["disk", "make"]  # the fixtures

pytestmark = pytest.mark.skipif(not hasattr(os, "fdatasync"), reason="fdatasync is what is looked at")


def test_p5_always_a_receipt_is_given_only_for_what_the_disk_has(
    make: Callable[[Mode], JournalWriter],
) -> None:
    lazy, writer = make("none"), make("always")
    lazy.append(b"x" * 100)
    before = dirty_kb(newest(lazy))
    with newest(lazy).open("rb") as file:
        os.fdatasync(file.fileno())
    if not before or dirty_kb(newest(lazy)):
        pytest.skip("this file system has no disk, or does not say what it has not written yet")
    for index in range(60):
        assert writer.append(b"%d" % index + bytes(100 * KB)) is None
        assert dirty_kb(newest(writer)) == 0
    assert writer.state.published == 60
    assert newest(writer).stem.endswith("04"), "over several segments"


def test_always_the_flush_of_a_record_comes_after_it_is_written_and_before_it_is_published(
    make: Callable[[Mode], JournalWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make("always")
    writer.append(b"first")
    seen: list[tuple[bool, int]] = []
    real = os.fdatasync

    def look(fd: int) -> None:
        seen.append((b"the record" in newest(writer).read_bytes(), writer.state.published))
        real(fd)

    monkeypatch.setattr(os, "fdatasync", look)
    assert writer.append(b"the record") is None
    assert seen == [(True, 1)]
    assert writer.state.published == 2


def test_p5_always_refuses_rather_than_lies_when_the_disk_fails(
    make: Callable[[Mode], JournalWriter], disk: Disk
) -> None:
    writer = make("always")
    assert writer.append(b"one") is None
    disk.failing = True
    reader = peek(writer)
    assert [writer.append(b"refused"), writer.append(b"refused")] == ["io_error"] * 2
    assert drain(reader) == ([(1, b"one")], []), "a record without a receipt was published"
    disk.failing = False
    assert writer.append(b"two") is None
    assert (writer.state.attempted, writer.state.published) == (2, 2)
    assert writer.state.refused == {"io_error": 2}
    assert drain(reader) == ([(2, b"two")], [])
    assert left_by(writer)[0][-1:] in ([(2, b"two")], [])


def test_p5_always_what_was_refused_is_not_found_in_what_a_dead_writer_left(
    make: Callable[[Mode], JournalWriter], disk: Disk
) -> None:
    writer = make("always")
    writer.append(b"one")
    disk.failing = True
    assert writer.append(b"refused") == "io_error"
    assert left_by(writer) == ([(1, b"one")], [])


def test_p5_always_a_disk_that_fails_once_is_not_believed_the_next_time(
    make: Callable[[Mode], JournalWriter], disk: Disk
) -> None:
    """The system reports a failed write once; the next sync of the same file would claim that all is well."""
    writer = make("always")
    writer.append(b"one")
    before = newest(writer)
    disk.failing = True
    writer.append(b"refused")
    disk.failing = False
    writer.append(b"two")
    assert newest(writer) != before
    assert left_by(writer) == ([(1, b"one"), (2, b"two")], [])


def test_p5_always_a_disk_that_fails_while_a_segment_is_changed_refuses(
    make: Callable[[Mode], JournalWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C came before the flush of a record; the next one does not fit any more."""
    writer = make("always")
    writer.append(b"one")
    real = os.fdatasync

    def interrupted(fd: int) -> None:
        raise KeyboardInterrupt

    def fails(fd: int) -> None:
        raise OSError(errno.EIO, "disk")

    monkeypatch.setattr(os, "fdatasync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        writer.append(b"interrupted")
    monkeypatch.setattr(os, "fdatasync", fails)
    assert writer.append(bytes(300 * KB)) == "io_error"
    monkeypatch.setattr(os, "fdatasync", real)
    assert writer.append(b"two") is None
    assert left_by(writer) == ([(1, b"one"), (2, b"two")], [])
    assert writer.state.refused == {"io_error": 1}


def test_always_threads_that_wait_together_share_a_flush(
    make: Callable[[Mode], JournalWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make("always")
    writer.append(b"first")
    count, arrived, flushes = 8, threading.Event(), []
    real = os.fdatasync

    def slow(fd: int) -> None:
        if not flushes:
            wait_until(lambda: writer._number == count + 1)  # all others are written and wait
        flushes.append(fd)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", slow)
    answers: list[str | None] = []
    threads = [
        threading.Thread(target=lambda: answers.append(writer.append(b"together"))) for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    arrived.set()
    assert answers == [None] * count
    assert len(flushes) == 2
    assert writer.state.published == count + 1


def test_p5_always_when_a_shared_flush_fails_everybody_who_waited_is_refused(
    make: Callable[[Mode], JournalWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make("always")
    writer.append(b"first")
    count = 8
    real = os.fdatasync

    def fails(fd: int) -> None:
        wait_until(lambda: writer._number == count + 1)
        raise OSError(errno.EIO, "disk")

    monkeypatch.setattr(os, "fdatasync", fails)
    answers: list[str | None] = []
    threads = [threading.Thread(target=lambda: answers.append(writer.append(b"no"))) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    monkeypatch.setattr(os, "fdatasync", real)
    assert answers == ["io_error"] * count
    assert writer.state.refused == {"io_error": count}
    assert (writer.state.attempted, writer.state.published) == (1, 1)
    assert writer.append(b"last") is None
    assert left_by(writer) == ([(1, b"first"), (2, b"last")], [])


def test_always_a_search_in_a_signal_handler_during_the_flush_is_kept_too(
    make: Callable[[Mode], JournalWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a handler does in the middle of a flush, in the thread that flushes."""
    writer = make("always")
    writer.append(b"one")
    real, answers = os.fdatasync, []

    def interrupted(fd: int) -> None:
        monkeypatch.setattr(os, "fdatasync", real)
        answers.append(writer.append(b"handler"))
        real(fd)

    monkeypatch.setattr(os, "fdatasync", interrupted)
    assert writer.append(b"two") is None
    assert answers == [None]
    assert writer.state.published == 3
    assert left_by(writer) == ([(1, b"one"), (2, b"two"), (3, b"handler")], [])


def test_p5_a_segment_whose_sync_failed_never_claims_to_be_synced_again(tmp_path: Path, disk: Disk) -> None:
    """Two threads may sync it at once, and the system tells only one of them."""
    segment = Segment(tmp_path / "a.seg", 1, 4096, b"w" * 16, durable=True)
    segment.sync()
    disk.failing = True
    with pytest.raises(OSError, match="Input/output"):
        segment.sync()
    disk.failing = False
    with pytest.raises(OSError, match="Input/output"):
        segment.sync()
    segment.close()
