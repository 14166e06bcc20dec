"""Lock files that are damaged or gone: what can be read is shipped, the rest is said."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from uuid import UUID

import pytest
from journal.doubles import die, left_behind, make_writer

from ragledger.ids import time_of
from ragledger.journal import directory as files
from ragledger.journal.salvage import mend, strays
from ragledger.journal.state import REASONS, WriterState, condition_of

KB = 1024
SCRIBBLED = {
    "empty": lambda data: b"",
    "half": lambda data: data[:600],
    "zeros": lambda data: bytes(len(data)),
    "ones": lambda data: b"\xff" * len(data),
    "magic": lambda data: b"XXXXXXXX" + data[8:],
    "counters": lambda data: data[:40] + b"\xff" * 80 + data[120:],
    "identity": lambda data: data[:512] + b"\xff" * 512 + data[1024:],
}


def dead_writer(directory: Path, count: int = 60) -> UUID:
    writer = make_writer(directory)
    for index in range(count):
        assert writer.append(b"%04d" % index + bytes(20 * KB)) is None
    die(writer)
    for segment in (writer._segment, writer._next, *writer._retired):
        if segment is not None:
            segment.close()
    return writer.writer_id


def bodies(count: int = 60) -> list[tuple[int, bytes]]:
    return [(index + 1, b"%04d" % index + bytes(20 * KB)) for index in range(count)]


@pytest.mark.parametrize("how", SCRIBBLED)
def test_p5_a_damaged_state_file_costs_no_record(tmp_path: Path, how: str) -> None:
    writer = dead_writer(tmp_path)
    path = files.lock_path(tmp_path, writer.hex)
    path.write_bytes(SCRIBBLED[how](path.read_bytes()))
    assert WriterState.adopt(path) is None
    assert [(stray.writer, stray.why) for stray in strays(tmp_path)] == [
        (writer.hex, "its lock file is damaged")
    ]
    mended, left = mend(tmp_path)
    assert ([stray.writer for stray in mended], left) == ([writer.hex], [])
    assert left_behind(tmp_path, writer) == (bodies(), [])
    assert strays(tmp_path) == []


def test_p5_a_missing_state_file_costs_no_record(tmp_path: Path) -> None:
    writer = dead_writer(tmp_path)
    files.lock_path(tmp_path, writer.hex).unlink()
    assert [stray.why for stray in strays(tmp_path)] == ["its lock file is missing"]
    mend(tmp_path)
    assert left_behind(tmp_path, writer) == (bodies(), [])


def test_a_state_file_made_anew_says_what_is_known_and_invents_nothing(tmp_path: Path) -> None:
    writer = dead_writer(tmp_path)
    path = files.lock_path(tmp_path, writer.hex)
    path.unlink()
    mend(tmp_path)
    state = WriterState.adopt(path)
    assert state is not None
    made = time_of(writer)
    assert made is not None
    assert state.writer_id == writer
    assert state.started_at == int(made.timestamp() * 1_000_000)
    assert (state.identity.project, state.identity.host, state.pid) == ("unknown", "unknown", 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    state.close()


def test_counters_of_a_mended_writer_are_those_of_what_it_left(tmp_path: Path) -> None:
    """Else more would be written than was ever offered."""
    writer = dead_writer(tmp_path)
    path = files.lock_path(tmp_path, writer.hex)
    path.unlink()
    mend(tmp_path)
    left_behind(tmp_path, writer)
    state = WriterState.peek(path)
    assert state is not None
    assert (state.attempted, state.published) == (60, 60)
    state.close()


def test_p5_a_writer_that_lives_is_left_alone_also_without_its_lock_file(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    writer.append(b"one")
    writer.state.path.unlink()
    assert mend(tmp_path) == ([], [])
    assert not writer.state.path.exists()
    writer.append(b"two")
    writer.close()
    mend(tmp_path)
    assert left_behind(tmp_path, writer.writer_id) == ([(1, b"one"), (2, b"two")], [])


def test_a_writer_that_lives_is_left_alone_also_with_a_damaged_lock_file(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    writer.append(b"one")
    with writer.state.path.open("r+b") as file:
        file.write(b"XXXXXXXX")
    before = writer.state.path.read_bytes()
    mend(tmp_path)
    assert writer.state.path.read_bytes() == before
    assert not writer.is_there(), "its process is not told"
    writer.close()


def test_a_state_file_of_a_newer_release_is_left_alone_and_said(tmp_path: Path) -> None:
    writer = dead_writer(tmp_path)
    path = files.lock_path(tmp_path, writer.hex)
    path.write_bytes(path.read_bytes()[:8] + b"\x02\0\0\0" + path.read_bytes()[12:])
    before = path.read_bytes()
    mended, left = mend(tmp_path)
    assert (mended, [stray.why for stray in left]) == ([], ["it was made by a newer release"])
    assert path.read_bytes() == before


def test_a_journal_that_was_shipped_in_the_meantime_is_no_stray(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    writer.append(b"one")
    writer.close()
    for path in tmp_path.iterdir():
        path.unlink()
    assert strays(tmp_path) == []
    assert condition_of(writer.state.path) == "gone"
    assert strays(tmp_path / "nowhere") == []
    assert mend(tmp_path / "nowhere") == ([], [])


def test_of_two_that_mend_at_once_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = dead_writer(tmp_path)
    path = files.lock_path(tmp_path, writer.hex)
    path.unlink()
    real, made = WriterState.create.__func__, []  # type: ignore[attr-defined]

    def overtaken(cls: type[WriterState], *arguments: object, **options: object) -> WriterState:
        if not made:
            made.append(None)
            made[0] = real(cls, *arguments, **options)  # the other one, faster
        return real(cls, *arguments, **options)

    monkeypatch.setattr(WriterState, "create", classmethod(overtaken))
    mended, left = mend(tmp_path)
    assert (mended, len(left)) == ([], 1)
    assert os.path.samestat(path.stat(), os.fstat(made[0]._fd)), "the other one's lock was replaced"
    made[0].close()
    assert [path.suffix for path in tmp_path.iterdir() if path.suffix == ".new"] == []


def test_a_segment_is_held_for_as_long_as_its_writer_maps_it(tmp_path: Path) -> None:
    from ragledger.journal.segment import is_held

    writer = make_writer(tmp_path)
    writer.append(b"one")
    path = files.segment_path(tmp_path, writer.writer_id.hex, 1)
    assert is_held(path)
    writer.seal()
    assert not is_held(path)
    assert not is_held(tmp_path / "nothing")
    writer.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_does_not_hold_its_parents_segments(tmp_path: Path) -> None:
    from journal.test_journal import PLENTY, Journal, record

    from ragledger.journal.segment import is_held

    journal = Journal(tmp_path, project="test", cap_bytes=PLENTY)
    journal.put(record("x"))
    writer = journal.writer
    assert writer is not None
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
    path = files.segment_path(tmp_path, writer.writer_id.hex, 1)
    try:
        assert is_held(path), "the child released its parent's lock"
        journal.release()
        assert not is_held(path), "the child keeps it"
    finally:
        os.close(stay)
        os.waitpid(child, 0)


def test_reasons_are_only_ever_appended() -> None:
    """A counter's place is part of the file's format."""
    assert REASONS[:7] == ("cap", "no_space", "too_large", "reentry", "io_error", "no_journal", "lost")


def test_a_writer_id_that_is_no_uuid7_can_be_salvaged_too(tmp_path: Path) -> None:
    from uuid import uuid4

    writer = make_writer(tmp_path, writer_id=uuid4())
    writer.append(b"one")
    writer.close()
    writer.state.path.unlink()
    mend(tmp_path)
    assert left_behind(tmp_path, writer.writer_id) == ([(1, b"one")], [])
