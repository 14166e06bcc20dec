"""Appending: segments, the cap, a full disk, interruptions. A record is kept whole or refused with a reason."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from journal.doubles import drain, left_behind, left_by, make_writer, peek

from ragledger.journal import directory as files
from ragledger.journal import frames
from ragledger.journal import state as state_module
from ragledger.journal.writer import JournalWriter

KB = 1024


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[JournalWriter]:
    made = make_writer(tmp_path)
    yield made
    made.close()


def segments(writer: JournalWriter) -> list[int]:
    return [n for n, _ in files.segments(writer.directory, writer.writer_id.hex)]


def test_records_are_numbered_from_one_without_gaps(writer: JournalWriter) -> None:
    for index in range(10):
        assert writer.append(b"%d" % index) is None
    assert (writer.state.attempted, writer.state.published) == (10, 10)
    assert left_by(writer) == ([(index + 1, b"%d" % index) for index in range(10)], [])


def test_p5_what_was_appended_over_many_segments_is_left_by_a_dead_writer_in_order(
    writer: JournalWriter,
) -> None:
    bodies = [b"%06d" % index + bytes(10 * KB) for index in range(300)]
    for index, body in enumerate(bodies):
        assert writer.append(body) is None
        if index % 50 == 0:
            writer.prepare()
    assert len(segments(writer)) > 2
    assert left_by(writer) == (list(enumerate(bodies, 1)), [])


def test_segments_are_private_preallocated_and_grow(writer: JournalWriter) -> None:
    sizes = []
    for _ in range(40):
        writer.prepare()
        for _ in range(20):
            writer.append(bytes(20 * KB))
    for _, path in files.segments(writer.directory, writer.writer_id.hex):
        status = path.stat()
        assert status.st_mode & 0o777 == 0o600
        assert status.st_blocks * 512 >= status.st_size, "a hole in a mapped file is a SIGBUS on a full disk"
        sizes.append(status.st_size)
    assert sizes == sorted(sizes)
    assert sizes[0] == 256 * KB
    assert sizes[-1] == 4096 * KB


def test_a_prepared_segment_spares_the_append_every_system_call(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.append(bytes(200 * KB))
    writer.prepare()

    def unexpected(*_: object, **__: object) -> None:
        raise AssertionError("a system call within an append")

    for name in ("open", "scandir", "posix_fallocate", "stat"):
        monkeypatch.setattr(os, name, unexpected)
    assert writer.append(bytes(200 * KB)) is None
    monkeypatch.undo()
    assert segments(writer) == [1, 2]


def test_preparing_twice_makes_one_segment(writer: JournalWriter) -> None:
    for _ in range(3):
        writer.prepare()
    assert segments(writer) == [1]


def test_a_record_larger_than_a_segment_gets_one_of_its_size(writer: JournalWriter) -> None:
    writer.append(b"small")
    writer.prepare()
    large = os.urandom(9 * KB * KB)
    assert writer.append(large) is None
    assert writer.append(b"after") is None
    assert left_by(writer) == ([(1, b"small"), (2, large), (3, b"after")], [])


def test_a_record_beyond_all_bounds_is_refused_and_costs_nothing(writer: JournalWriter) -> None:
    writer.append(b"before")
    assert writer.append(bytes(16 * KB * KB + 1)) == "too_large"
    assert writer.append(b"after") is None
    assert writer.state.refused == {"too_large": 1}
    assert writer.state.attempted == 2
    assert left_by(writer) == ([(1, b"before"), (2, b"after")], [])


def test_the_cap_refuses_and_a_shipped_segment_makes_room(tmp_path: Path) -> None:
    writer = make_writer(tmp_path, cap_bytes=600 * KB)
    kept = 0
    while writer.append(bytes(50 * KB)) is None:
        kept += 1
    assert 0 < kept * 50 < 600
    assert files.size_of(tmp_path) <= 600 * KB
    assert writer.append(bytes(50 * KB)) == "cap"
    assert writer.state.refused == {"cap": 2}
    reader = peek(writer)
    assert len(drain(reader)[0]) == kept
    writer.seal()
    assert writer.append(bytes(50 * KB)) is None
    assert left_by(writer)[0][-1][0] == kept + 1


def test_where_a_large_segment_has_no_room_a_small_one_is_made(tmp_path: Path) -> None:
    writer = make_writer(tmp_path, cap_bytes=800 * KB)
    kept = 0
    while writer.append(bytes(20 * KB)) is None:
        writer.prepare()
        kept += 1
    sizes = [path.stat().st_size for _, path in files.segments(tmp_path, writer.writer_id.hex)]
    assert sizes == [256 * KB] * 3
    assert kept == 3 * 12


def test_the_cap_is_for_all_writers_together(tmp_path: Path) -> None:
    first = make_writer(tmp_path, cap_bytes=400 * KB)
    assert first.append(b"first") is None
    second = make_writer(tmp_path, cap_bytes=400 * KB)
    assert second.append(b"second") == "cap"


def test_a_full_disk_refuses_and_recovers_when_the_background_finds_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_writer(tmp_path)
    calls = []

    def full(*_: object) -> None:
        calls.append(1)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        writer.prepare()
        asked = len(calls)
        assert {writer.append(b"x") for _ in range(100)} == {"no_space"}
        assert len(calls) == asked, "a search asked the full disk again"
    assert segments(writer) == [], "a segment without space was left behind"
    assert writer.append(b"x") == "no_space", "nobody has looked yet"
    writer.prepare()
    assert writer.append(b"y") is None
    assert writer.state.refused == {"no_space": 101}
    assert left_by(writer) == ([(1, b"y")], [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small tmpfs")
@pytest.mark.parametrize("mode", ["none", "batch", "always"])
def test_p5_a_disk_that_is_really_full_kills_nobody_and_every_receipt_holds(
    tmp_path: Path, mode: str
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("this container may not mount")
    try:
        found = subprocess.run(
            [sys.executable, "-c", FULL, str(disk), mode],
            capture_output=True,
            text=True,
            check=False,
            env=_with_tests(),
        )
        assert found.returncode == -signal.SIGKILL, found.stderr
        name, before, after = found.stdout.split()
        records, damaged = left_behind(disk, UUID(name))
        kept = int(before) + int(after)
        assert [number for number, _ in records] == list(range(1, kept + 1))
        assert all(body == b"%06d" % number * 5000 for number, body in records), "a torn record"
        assert damaged == []
        assert int(before) > 20
        assert int(after) == 10
    finally:
        subprocess.run(["umount", str(disk)], check=True)


FULL = """
import os, signal, sys
from pathlib import Path
from journal.doubles import PLENTY, WHO
from ragledger.ids import new_id
from ragledger.journal.writer import JournalWriter

directory = Path(sys.argv[1])
ballast = directory / "ballast"  # somebody else's, and it will go away
ballast.write_bytes(bytes(1 << 20))
writer = JournalWriter(directory, new_id(), WHO, PLENTY, fsync=sys.argv[2])
kept = refused = 0
while refused < 50:
    if refused % 10 == 5:
        writer.prepare()
    reason = writer.append(b"%06d" % (kept + 1) * 5000)
    assert reason in (None, "no_space"), reason
    kept += reason is None
    refused += reason is not None
before = kept
ballast.unlink()
writer.prepare()
for _ in range(10):
    assert writer.append(b"%06d" % (kept + 1) * 5000) is None
    kept += 1
assert writer.state.refused == {"no_space": 50}
print(writer.writer_id, before, kept - before, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _with_tests() -> dict[str, str]:
    paths = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def test_sealing_gives_the_disk_back_and_loses_nothing(writer: JournalWriter) -> None:
    writer.append(b"one")
    writer.prepare()
    writer.seal()
    assert files.size_of(writer.directory) == frames.HEADER_SIZE + frames.frame_size(3)
    writer.append(b"two")
    writer.seal()
    assert left_by(writer) == ([(1, b"one"), (2, b"two")], [])


def test_a_closed_writer_takes_nothing_and_frees_its_lock(writer: JournalWriter) -> None:
    writer.append(b"one")
    writer.close()
    writer.close()
    assert writer.append(b"two") == "closed"
    writer.prepare()
    assert left_behind(writer.directory, writer.writer_id) == ([(1, b"one")], [])


@pytest.mark.parametrize("closes_first", [False, True], ids=["between two looks", "before a look"])
def test_a_writer_that_another_thread_closes_while_its_files_are_looked_for_misses_none(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch, closes_first: bool
) -> None:
    look = state_module._who

    def look_and_close(page: mmap.mmap) -> tuple[object, ...]:
        if closes_first:
            writer.close()
        seen = look(page)
        writer.close()
        return seen

    writer.append(b"one")
    monkeypatch.setattr(state_module, "_who", look_and_close)
    assert writer.is_there()


@pytest.fixture
def interrupted_writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Ctrl-C in the middle of the copies whose number is in the list."""
    numbers: list[int] = []
    write = frames.write_frame

    def interrupted(target: memoryview, offset: int, number: int, body: bytes) -> None:
        if number in numbers:
            start = offset + frames.FRAME.size
            target[start : start + len(body) // 2] = body[: len(body) // 2]
            raise KeyboardInterrupt
        write(target, offset, number, body)

    monkeypatch.setattr(frames, "write_frame", interrupted)
    return numbers


def test_p5_ctrl_c_within_an_append_leaves_the_later_records_right(
    writer: JournalWriter, interrupted_writes: list[int]
) -> None:
    interrupted_writes.append(2)
    writer.append(b"one" * 100)
    with pytest.raises(KeyboardInterrupt):
        writer.append(b"two" * 100)
    for body in (b"three", b"four"):
        assert writer.append(body) is None
    assert writer.state.published == 4
    live = drain(peek(writer))
    assert live[0] == [(1, b"one" * 100), (3, b"three"), (4, b"four")]
    assert live[1] == [2]
    assert writer.state.attempted == 4


def test_p5_ctrl_c_in_the_last_append_is_unfinished_and_not_damage(
    writer: JournalWriter, interrupted_writes: list[int]
) -> None:
    interrupted_writes.append(2)
    writer.append(b"one")
    with pytest.raises(KeyboardInterrupt):
        writer.append(b"two")
    assert writer.state.attempted == 2
    assert left_by(writer) == ([(1, b"one")], [])


def test_ctrl_c_while_a_segment_is_changed_loses_no_later_record(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads goes on as soon as the next segment is open: a smaller record must not go to the old one then."""
    writer.append(bytes(200 * KB))
    writer.prepare()
    opened = frames.open_segment

    def interrupted(target: memoryview, first: int) -> None:
        opened(target, first)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(frames, "open_segment", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.append(bytes(100 * KB))
    reader = peek(writer)
    assert drain(reader)[0] == [(1, bytes(200 * KB))]
    assert writer.append(b"small") is None
    assert drain(reader) == ([(2, b"small")], [])


def test_a_search_within_a_signal_handler_is_refused_and_counted_and_never_a_deadlock(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str | None] = []
    write = frames.write_frame

    def signalled(target: memoryview, offset: int, number: int, body: bytes) -> None:
        write(target, offset, number, body)
        if number == 1:
            signal.raise_signal(signal.SIGUSR1)

    def handler(*_: object) -> None:
        answers.append(writer.append(b"from the handler"))

    monkeypatch.setattr(frames, "write_frame", signalled)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        assert writer.append(b"one") is None
        signal.raise_signal(signal.SIGUSR1)  # between two appends there is nothing in its way
        assert writer.append(b"two") is None
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert answers == ["reentry", None]
    assert writer.state.refused == {"reentry": 1}
    assert left_by(writer) == ([(1, b"one"), (2, b"from the handler"), (3, b"two")], [])


def test_threads_take_turns_and_a_reader_beside_them_sees_every_record_once(writer: JournalWriter) -> None:
    count, size = 8, 400
    seen: list[tuple[int, bytes]] = []
    reader = peek(writer)

    def work(name: int) -> None:
        for index in range(size):
            assert writer.append(b"%d:%d:" % (name, index) + bytes(index)) is None

    threads = [threading.Thread(target=work, args=(name,)) for name in range(count)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        writer.prepare()
        found, damaged = drain(reader, limit=50)
        assert damaged == []
        seen += found
    seen += drain(reader)[0]
    assert [number for number, _ in seen] == list(range(1, count * size + 1))
    for name in range(count):
        mine = [body for _, body in seen if body.startswith(b"%d:" % name)]
        assert mine == [b"%d:%d:" % (name, index) + bytes(index) for index in range(size)]
    assert writer.state.shipped == count * size


def test_two_writers_share_a_directory_without_meeting(tmp_path: Path) -> None:
    first, second = make_writer(tmp_path), make_writer(tmp_path)
    for index in range(100):
        first.append(b"first %d" % index)
        second.append(b"second %d" % index)
    for writer, name in ((first, b"first"), (second, b"second")):
        records, damaged = left_by(writer)
        assert (records, damaged) == ([(i + 1, name + b" %d" % i) for i in range(100)], [])
