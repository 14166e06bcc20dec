"""P9: text leaves the journal's file as soon as the table has it, not only when the segment goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from journal.doubles import adopt, die, drain, left_behind, make_writer, peek

from ragledger.ids import new_id
from ragledger.journal import directory as files
from ragledger.journal.backlog import Backlog
from ragledger.journal.blanking import _texts_in
from ragledger.journal.frames import FRAME
from ragledger.journal.state import WriterState
from ragledger.journal.writer import JournalWriter
from ragledger.model import Text, TextsRecord, encode_record

SECRET = b"ZEBRAQUERY"
LARGE = "x" * 5_000_000  # more than a window of the reader, and than a usual segment


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[JournalWriter]:
    made = make_writer(tmp_path)
    yield made
    made.close()


def fill(writer: JournalWriter, padding: str = "") -> list[bytes]:
    texts = TextsRecord(new_id(), (Text(0, SECRET.decode() + padding), Text(1, None)))
    bodies = [b"0000 before", encode_record(texts), b"0001 between", encode_record(texts), b"0002 after"]
    for body in bodies:
        assert writer.append(body) is None
    return bodies


def kept(writer: JournalWriter) -> int:
    paths = [path for _, path in files.segments(writer.directory, writer.writer_id.hex)]
    assert paths
    return sum(path.read_bytes().count(SECRET) for path in paths)


@pytest.mark.parametrize("padding", ["", LARGE], ids=["small", "large"])
def test_p9_text_is_blanked_when_it_is_committed_and_all_else_stays(
    writer: JournalWriter, padding: str
) -> None:
    bodies = fill(writer, padding)
    reader = peek(writer)
    assert kept(writer) == 2
    batch = reader.next_batch(3)
    assert batch is not None
    assert kept(writer) == 2  # the table may still refuse the batch
    reader.commit(batch)
    assert kept(writer) == 1
    assert [body for _, body in drain(reader)[0]] == bodies[batch.last :]
    assert kept(writer) == 0
    assert writer.append(b"0003 later") is None
    assert drain(reader) == ([(6, b"0003 later")], [])


def test_p5_a_blanked_record_is_no_damage_for_whoever_reads_from_the_start(writer: JournalWriter) -> None:
    bodies = fill(writer)
    drain(peek(writer))
    found, damaged = drain(peek(writer))
    assert damaged == []
    assert [number for number, _ in found] == [1, 2, 3, 4, 5]
    assert [body for _, body in found] == [
        bodies[0],
        bytes(len(bodies[1])),
        bodies[2],
        bytes(len(bodies[3])),
        bodies[4],
    ]


@pytest.mark.parametrize("dead", [False, True])
def test_p9_what_a_shipper_landed_and_did_not_come_to_blank_the_next_one_blanks(
    writer: JournalWriter, dead: bool
) -> None:
    fill(writer)
    if dead:
        die(writer)
        reader = adopt(writer.directory, writer.writer_id, shipped=3)
    else:
        reader = peek(writer)
        reader.rewind(3)  # what the table says
    assert reader.next_batch(10) is not None
    assert kept(writer) == 1
    reader.close()


@pytest.mark.parametrize("dead", [False, True])
def test_p9_an_idle_writer_whose_texts_were_landed_and_not_blanked_is_looked_through_once(
    writer: JournalWriter, dead: bool
) -> None:
    fill(writer)
    if dead:
        die(writer)
        reader = adopt(writer.directory, writer.writer_id, shipped=5)
    else:
        state = WriterState.peek(files.lock_path(writer.directory, writer.writer_id.hex))
        assert state is not None
        reader = Backlog(writer.directory, state, shipped=5, live=True)
    assert reader.next_batch(10) is None  # nothing new
    assert kept(writer) == 0
    reader.close()


def test_p9_an_idle_writer_is_looked_through_after_a_lost_answer(writer: JournalWriter) -> None:
    fill(writer)
    reader = peek(writer)
    assert reader.next_batch(10) is not None
    reader.rewind(5)
    assert reader.next_batch(10) is None
    assert kept(writer) == 0


@pytest.mark.parametrize("which", [0, 1, "last"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_p9_a_record_that_was_blanked_half_way_is_blanked_by_the_next_shipper(
    writer: JournalWriter, share: float, which: int | str
) -> None:
    bodies = fill(writer, SECRET.decode() * 400)
    if which == "last":  # nothing that can be read comes after it
        bodies.append(bodies[1])
        assert writer.append(bodies[1]) is None
    [(_, path)] = [each for each in files.segments(writer.directory, writer.writer_id.hex) if each[0] == 1]
    places = _texts_in(1, path.read_bytes(), 99)[0]
    place = places[-1 if which == "last" else int(which)]
    with path.open("r+b") as file:
        file.seek(place.offset + FRAME.size)
        file.write(bytes(int(place.length * share)))  # and died before the checksum
    whole = len(bodies)
    die(writer)
    reader = adopt(writer.directory, writer.writer_id, shipped=whole)
    assert reader.next_batch(10) is None
    assert kept(writer) == 0
    reader.close()
    found, damaged = left_behind(writer.directory, writer.writer_id)
    assert (len(found), damaged) == (whole, [])  # whole again, with nothing in it


def test_p9_damage_before_what_is_not_shipped_takes_no_other_record(writer: JournalWriter) -> None:
    bodies = fill(writer)
    [(_, path)] = [each for each in files.segments(writer.directory, writer.writer_id.hex) if each[0] == 1]
    first = _texts_in(1, path.read_bytes(), 99)[0][0]
    with path.open("r+b") as file:
        file.seek(first.offset + 4)  # its length: now it would cover all that follows
        file.write((1 << 15).to_bytes(4, "little"))
    die(writer)
    reader = adopt(writer.directory, writer.writer_id, shipped=2)
    assert [body for _, body in drain(reader)[0]] == bodies[2:]
    reader.close()


def test_a_call_that_writes_less_is_repeated(writer: JournalWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(writer)
    write = os.pwrite
    monkeypatch.setattr("os.pwrite", lambda fd, data, offset: write(fd, data[:3], offset))
    drain(peek(writer))
    monkeypatch.undo()
    assert kept(writer) == 0
    assert len(drain(peek(writer))[0]) == 5


def test_a_segment_that_is_gone_has_nothing_to_blank(writer: JournalWriter) -> None:
    fill(writer)
    reader = peek(writer)
    batch = reader.next_batch(10)
    assert batch is not None
    for _, path in files.segments(writer.directory, writer.writer_id.hex):
        path.unlink()
    reader.commit(batch)
    assert reader.shipped == 5
