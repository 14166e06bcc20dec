"""The format of a segment: whatever was appended reads back, and damage costs what was damaged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragledger.journal import frames
from ragledger.journal.frames import FRAME, Frame, frame_size, scan, write_frame

MAGIC = b"\x0d\xf0\x4c\x47"
bodies = st.lists(
    st.one_of(st.binary(max_size=200), st.binary(max_size=20).map(lambda junk: junk + MAGIC * 3 + junk)),
    max_size=20,
)


def segment(*records: bytes, room: int = 64) -> bytearray:
    data = bytearray(sum(frame_size(len(body)) for body in records) + room)
    offset = 0
    for number, body in enumerate(records, 1):
        write_frame(memoryview(data), offset, number, body)
        offset += frame_size(len(body))
    return data


def read(data: bytes | bytearray) -> list[tuple[int, bytes]]:
    return [(found.number, found.body) for found in scan(bytes(data), 0) if isinstance(found, Frame)]


def starts(*records: bytes) -> list[int]:
    ends = [0]
    for body in records:
        ends.append(ends[-1] + frame_size(len(body)))
    return ends


@given(bodies)
def test_any_sequence_of_bodies_reads_back(records: list[bytes]) -> None:
    assert read(segment(*records)) == list(enumerate(records, 1))


@given(bodies.filter(bool), st.data())
def test_damage_anywhere_costs_only_the_records_it_touched(records: list[bytes], data: st.DataObject) -> None:
    written = segment(*records, room=0)
    first = data.draw(st.integers(0, len(written) - 1))
    length = data.draw(st.integers(1, len(written) - first))
    junk = data.draw(st.one_of(st.just(bytes(length)), st.binary(min_size=length, max_size=length)))
    written[first : first + length] = junk
    edges = starts(*records)
    untouched = {
        (number, body)
        for number, (body, (start, end)) in enumerate(zip(records, pairwise(edges), strict=True), 1)
        if end <= first or start >= first + length
    }
    found = set(read(written))
    assert untouched <= found
    # What else is found was damaged in its padding only, or not changed at all by the junk.
    assert found <= set(enumerate(records, 1))


@given(bodies.filter(lambda found: len(found) > 2), st.data())
def test_a_damaged_stretch_is_told_with_its_length(records: list[bytes], data: st.DataObject) -> None:
    hurt = data.draw(st.integers(1, len(records) - 2))
    written = segment(*records)
    edges = starts(*records)
    written[edges[hurt]] ^= 0xFF
    found = list(scan(bytes(written), 0))
    assert found[hurt] == edges[hurt + 1] - edges[hurt]
    assert [item for item in found if isinstance(item, int)] == [found[hurt]]


def prefixes_of_the_write_order(offset: int, number: int, body: bytes) -> Iterator[tuple[int, int]]:
    """(how much of the body, how much of the header's 20 bytes after the magic) was in memory at a kill."""
    yield from ((length, 0) for length in range(len(body) + 1))
    yield from ((len(body), length) for length in range(1, FRAME.size - 4 + 1))


def test_p5_a_record_killed_anywhere_before_its_magic_is_not_one() -> None:
    body = b"0123456789"
    whole = segment(b"before", body)
    offset = starts(b"before")[1]
    for of_body, of_header in prefixes_of_the_write_order(offset, 2, body):
        torn = segment(b"before", room=64)
        start = offset + FRAME.size
        torn[start : start + of_body] = whole[start : start + of_body]
        torn[offset + 4 : offset + 4 + of_header] = whole[offset + 4 : offset + 4 + of_header]
        assert read(torn) == [(1, b"before")], (of_body, of_header)
    # Also where the magic itself was cut: three of its four bytes.
    torn = bytearray(whole)
    torn[offset + 3] = 0
    assert read(torn) == [(1, b"before")]
    assert read(whole) == [(1, b"before"), (2, body)]


class Watched(bytearray):
    """Notes where bytes change, in order."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.order: list[int] = []

    def __setitem__(self, key: object, value: object) -> None:
        assert isinstance(key, slice)
        self.order.append(key.start or 0)
        super().__setitem__(key, value)  # type: ignore[call-overload]


def test_p5_the_magic_is_written_last() -> None:
    target = Watched(128)
    write_frame(target, 0, 1, b"body")  # type: ignore[arg-type]  pack_into writes past __setitem__: magic 0
    assert target.order == [FRAME.size, 0]
    assert bytes(target[:4]) == MAGIC


def test_a_record_within_the_body_of_another_is_not_one() -> None:
    inner = bytes(segment(b"a journal in a journal", room=0))
    assert read(segment(inner, b"next")) == [(1, inner), (2, b"next")]


@given(st.binary(max_size=400), st.integers(0, 40))
@settings(max_examples=300)
def test_arbitrary_bytes_are_never_a_record_and_never_an_error(junk: bytes, offset: int) -> None:
    assert list(scan(junk, offset)) == []


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1000])
def test_frames_stay_aligned(length: int) -> None:
    assert frame_size(length) % 8 == 0
    assert FRAME.size + length <= frame_size(length) < FRAME.size + length + 8


def test_a_prepared_segment_is_not_in_use_until_it_is_opened() -> None:
    data = bytearray(128)
    assert not frames.is_in_use(bytes(data))
    frames.prepare_segment(memoryview(data), b"w" * 16, 7)
    assert not frames.is_in_use(bytes(data))
    frames.open_segment(memoryview(data), 256)
    assert frames.is_in_use(bytes(data))


def test_no_moment_of_preparing_a_segment_looks_in_use() -> None:
    """A reader of a live writer would go on to it and never look again at the segment before."""
    whole = bytearray(128)
    frames.prepare_segment(memoryview(whole), b"w" * 16, 7)
    for length in range(8, frames.HEADER_SIZE + 1):
        partly = bytearray(128)
        partly[8:length] = whole[8:length]
        assert not frames.is_in_use(bytes(partly))
    target = Watched(128)
    frames.prepare_segment(target, b"w" * 16, 7)  # type: ignore[arg-type]
    assert target.order == [8, 0]
