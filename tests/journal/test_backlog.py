"""Reading a journal: in order, whole, beside a writer that lives; what cannot be read is counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journal.doubles import adopt, die, drain, left_by, make_writer, peek

from ragledger.journal import directory as files
from ragledger.journal import frames
from ragledger.journal.writer import JournalWriter

KB = 1024


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[JournalWriter]:
    made = make_writer(tmp_path)
    yield made
    made.close()


def paths(writer: JournalWriter) -> list[Path]:
    return [path for _, path in files.segments(writer.directory, writer.writer_id.hex)]


def fill(writer: JournalWriter, count: int, size: int = 50 * KB) -> list[bytes]:
    bodies = [b"%04d" % index + bytes(size) for index in range(count)]
    for body in bodies:
        assert writer.append(body) is None
    return bodies


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_nothing_new_is_no_batch_and_no_look_at_the_disk(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = peek(writer)
    assert reader.next_batch(10) is None
    fill(writer, 3)
    drain(reader)

    def unexpected(*_: object, **__: object) -> None:
        raise AssertionError("looked at the disk")

    monkeypatch.setattr(os, "scandir", unexpected)
    assert reader.next_batch(10) is None


def test_batches_are_bounded_and_consecutive(writer: JournalWriter) -> None:
    fill(writer, 25, size=10)
    reader = peek(writer)
    sizes = []
    while (batch := reader.next_batch(10)) is not None:
        sizes.append((batch.first, batch.last))
        reader.commit(batch)
    assert sizes == [(1, 10), (11, 20), (21, 25)]


@pytest.mark.parametrize("how", ["lives", "dies"])
def test_p3_a_batch_is_bounded_by_bytes_too_and_nothing_is_taken_for_lost(tmp_path: Path, how: str) -> None:
    """Searches with a thousand hits: 1,000 of them were a batch of 150 MB."""
    writer = make_writer(tmp_path)
    bodies = fill(writer, 10, size=1500 * KB)
    if how == "dies":
        die(writer)
    reader = peek(writer) if how == "lives" else adopt(tmp_path, writer.writer_id)
    sizes, found = [], []
    while (batch := reader.next_batch(1000)) is not None:
        sizes.append(len(batch.frames))
        found += [frame.body for frame in batch.frames]
        assert batch.damaged == ()
        reader.commit(batch)
    assert sizes == [3, 3, 3, 1]
    assert found == bodies
    reader.close()


def test_p5_what_is_missing_beyond_a_batch_that_is_full_of_bytes_is_counted_in_the_next(
    writer: JournalWriter,
) -> None:
    fill(writer, 4, size=2100 * KB)
    die(writer)
    for path in paths(writer)[-1:]:
        path.unlink()
    reader = adopt(writer.directory, writer.writer_id)
    found, damaged = drain(reader)
    assert sorted([number for number, _ in found] + damaged) == [1, 2, 3, 4]
    assert damaged
    reader.close()


def test_p5_a_batch_that_is_not_committed_is_read_again(writer: JournalWriter) -> None:
    fill(writer, 5)
    reader = peek(writer)
    assert reader.next_batch(3) == reader.next_batch(3)
    assert reader.shipped == 0
    assert writer.state.shipped == 0


def test_committed_segments_are_removed_and_the_current_one_is_not(writer: JournalWriter) -> None:
    fill(writer, 60)
    writer.prepare()
    before = paths(writer)
    assert len(before) > 3
    drain(peek(writer))
    assert paths(writer) == before[-2:], "all but the current and the prepared one"
    fill(writer, 1)
    found, gone = left_by(writer)
    assert found[-1][0] == 61
    assert gone == list(range(1, found[0][0])), "a reader that starts from zero sees what is gone"


def test_a_reader_that_starts_at_the_watermark_reads_only_what_follows(writer: JournalWriter) -> None:
    bodies = fill(writer, 40)
    die(writer)
    reader = adopt(writer.directory, writer.writer_id, shipped=33)
    assert drain(reader) == (list(enumerate(bodies, 1))[33:], [])
    reader.close()


def test_a_live_tail_is_followed_across_segments(writer: JournalWriter) -> None:
    reader = peek(writer)
    seen = []
    for index in range(60):
        writer.append(b"%d" % index + bytes(50 * KB))
        if index % 7 == 0:
            writer.prepare()
        if index % 3 == 0:
            found, damaged = drain(reader)
            assert damaged == []
            seen += found
    seen += drain(reader)[0]
    assert [number for number, _ in seen] == list(range(1, 61))


def test_a_record_being_written_right_now_is_waited_for(writer: JournalWriter) -> None:
    fill(writer, 1)
    offset = writer._offset
    reader = peek(writer)
    drain(reader)
    segment = writer._segment
    assert segment is not None
    start = offset + frames.FRAME.size
    segment.view[start : start + 4] = b"half"
    writer.state.published = 2  # seen before the magic, on a machine that reorders stores
    assert reader.next_batch(10) is None
    frames.write_frame(segment.view, offset, 2, b"half a moment")
    assert drain(reader) == ([(2, b"half a moment")], [])


def test_p5_a_record_that_a_reader_was_too_early_for_is_not_damage(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It copied the first page before the record was there, and the next page after the following one was."""
    bodies = fill(writer, 3, size=100)
    size = frames.frame_size(104)
    pread, looks = os.pread, []

    def early(fd: int, length: int, offset: int) -> bytes:
        data = bytearray(pread(fd, length, offset))
        if not looks:
            data[size : 2 * size] = bytes(size)
        looks.append(offset)
        return bytes(data)

    monkeypatch.setattr(os, "pread", early)
    assert drain(peek(writer)) == (list(enumerate(bodies, 1)), [])
    assert len(looks) > 1


def test_p5_records_that_come_while_a_segment_is_read_are_not_passed_over(
    writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more in the segment that was just read, then one in the next: only now the first segment is complete."""
    fill(writer, 1)
    reader = peek(writer)
    read, done = reader._read, []

    def read_then_append(*arguments: Any, **options: Any) -> int:
        offset = read(*arguments, **options)
        if arguments[0] == 1 and not done:
            done.append(True)
            writer.append(b"one more")
            writer.append(bytes(250 * KB))
            assert len(paths(writer)) == 2
        return offset

    monkeypatch.setattr(reader, "_read", read_then_append)
    found, damaged = drain(reader)
    assert ([number for number, _ in found], damaged) == ([1, 2, 3], [])


def test_a_hole_seen_twice_before_a_record_is_damage_also_of_a_live_writer(writer: JournalWriter) -> None:
    fill(writer, 3, size=100)
    size = frames.frame_size(104)
    overwrite(paths(writer)[0], frames.HEADER_SIZE + size, bytes(size))
    found, damaged = drain(peek(writer))
    assert ([number for number, _ in found], damaged) == ([1, 3], [2])


def test_damage_at_the_end_of_a_dead_writer_is_counted_up_to_what_it_published(
    writer: JournalWriter,
) -> None:
    fill(writer, 4, size=100)
    size = frames.frame_size(104)
    overwrite(paths(writer)[0], frames.HEADER_SIZE + 2 * size, bytes(2 * size))
    found, damaged = left_by(writer)
    assert ([number for number, _ in found], damaged) == ([1, 2], [3, 4])


def test_a_lost_segment_is_counted_number_by_number(writer: JournalWriter) -> None:
    fill(writer, 60)
    lost = paths(writer)[1]
    lost.unlink()
    found, damaged = left_by(writer)
    numbers = [number for number, _ in found]
    assert sorted(numbers + damaged) == list(range(1, 61))
    assert damaged == list(range(damaged[0], damaged[-1] + 1))
    assert numbers[0] == 1
    assert numbers[-1] == 60


def test_a_gap_of_any_size_comes_in_bounded_batches(writer: JournalWriter) -> None:
    """A table restored from an old backup asks for millions of numbers that are long gone."""
    fill(writer, 1)
    writer._number = 12_345
    fill(writer, 2)
    die(writer)
    reader = adopt(writer.directory, writer.writer_id)
    sizes = []
    while (batch := reader.next_batch(1000)) is not None:
        sizes.append(len(batch.frames) + len(batch.damaged))
        reader.commit(batch)
    assert max(sizes) <= 1000
    assert sum(sizes) == 12_347
    reader.close()


@pytest.mark.parametrize("junk", [b"\xff", b"\0"], ids=["scrambled", "zeroed"])
def test_a_damaged_segment_header_costs_no_record_of_a_dead_writer(
    writer: JournalWriter, junk: bytes
) -> None:
    bodies = fill(writer, 60)
    for path in paths(writer):
        overwrite(path, 0, junk * frames.HEADER_SIZE)
    assert left_by(writer) == (list(enumerate(bodies, 1)), [])


def test_a_damaged_segment_header_costs_no_record_of_a_live_writer(writer: JournalWriter) -> None:
    bodies = fill(writer, 60)
    for path in paths(writer):
        overwrite(path, 0, b"\xff" * frames.HEADER_SIZE)
    assert drain(peek(writer)) == (list(enumerate(bodies, 1)), [])


@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_p5_damage_anywhere_in_the_files_costs_what_it_hit_and_every_number_is_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    writer = make_writer(tmp_path_factory.mktemp("journal"))
    bodies = fill(writer, 30, size=20 * KB)
    files_of = paths(writer)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(files_of))
        size = path.stat().st_size
        offset = data.draw(st.integers(0, size - 1))
        length = data.draw(st.integers(1, min(size - offset, 60 * KB)))
        pattern: bytes = data.draw(st.sampled_from([b"\0", b"\xff", b"\x0d\xf0\x4c\x47"]))
        overwrite(path, offset, (pattern * length)[:length])
    found, damaged = left_by(writer)
    assert sorted([number for number, _ in found] + damaged) == list(range(1, 31))
    assert all(body == bodies[number - 1] for number, body in found)
    assert len(damaged) <= 3 * 5


def test_a_segment_that_another_shipper_removed_is_not_an_error(writer: JournalWriter) -> None:
    fill(writer, 20)
    slow, fast = peek(writer), peek(writer)
    batch = slow.next_batch(3)
    assert batch is not None
    slow.commit(batch)
    drain(fast)
    fill(writer, 1)
    behind = slow.next_batch(500)
    assert behind is not None, "it does not know better until the table says so"
    slow.rewind(fast.shipped)
    assert [number for number, _ in drain(slow)[0]] == [21]


def test_rewinding_starts_over_from_the_tables_watermark(writer: JournalWriter) -> None:
    bodies = fill(writer, 9)
    reader = peek(writer)
    batch = reader.next_batch(5)
    assert batch is not None
    reader.rewind(2)
    assert drain(reader)[0] == list(enumerate(bodies, 1))[2:]


def test_a_watermark_that_only_the_table_knew_reaches_the_state_file(writer: JournalWriter) -> None:
    """The answer to a commit was lost: whoever waits for the drain must learn that it went through."""
    fill(writer, 5)
    reader = peek(writer)
    reader.rewind(5)
    assert reader.next_batch(10) is None
    assert writer.state.shipped == 5


def test_what_is_removed_is_a_dead_writers_everything(writer: JournalWriter) -> None:
    fill(writer, 20)
    writer.prepare()
    die(writer)
    reader = adopt(writer.directory, writer.writer_id)
    drain(reader)
    reader.remove()
    assert list(writer.directory.iterdir()) == []


def test_a_large_record_is_read_through_windows(writer: JournalWriter) -> None:
    bodies = [os.urandom(size) for size in (10, 3 * KB * KB, 900 * KB, 300 * KB, 8 * KB * KB, 5)]
    for body in bodies:
        writer.append(body)
    assert drain(peek(writer)) == (list(enumerate(bodies, 1)), [])
