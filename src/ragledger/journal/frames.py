"""The format of a segment: pure functions on bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

__all__ = [
    "CHECKSUM_AT",
    "FRAME",
    "HEADER_SIZE",
    "Frame",
    "blank_checksum",
    "frame_size",
    "header_at",
    "is_in_use",
    "open_segment",
    "prepare_segment",
    "scan",
    "write_frame",
]

_SEGMENT_MAGIC = b"RGLSEG01"
_HEADER = struct.Struct("<8s16sQQ")  # magic, writer, n, first number (0: not in use yet)
HEADER_SIZE = 64
_FIRST = 32
FRAME = struct.Struct("<IIIIQ")  # magic, length, crc, reserved, number
_MAGIC = 0x474C_F00D
_MAGIC_BYTES = struct.pack("<I", _MAGIC)
_NUMBER = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
CHECKSUM_AT = 8
_HEAD = FRAME.size
_ALIGN = 8


class Frame(NamedTuple):
    """A record: its number, its body and where the next one starts."""

    number: int
    body: bytes
    end: int


def frame_size(length: int) -> int:
    """Bytes that a body of `length` takes in a segment."""
    return (_HEAD + length + _ALIGN - 1) & -_ALIGN


def prepare_segment(target: memoryview, writer: bytes, n: int) -> None:
    """Writes the header of a segment that has no record yet; the magic last, for whoever looks in between."""
    header = _HEADER.pack(_SEGMENT_MAGIC, writer, n, 0)
    target[8 : len(header)] = header[8:]
    target[:8] = header[:8]


def open_segment(target: memoryview, first: int) -> None:
    """Says that records follow, from number `first` on, and that the segment before gets no more."""
    target[_FIRST : _FIRST + 8] = _NUMBER.pack(first)


def is_in_use(header: bytes) -> bool:
    """Whether records may follow. A header with a damaged magic does not rule it out, one without any does."""
    magic, first = header[:8], header[_FIRST : _FIRST + 8]
    return any(first) if magic == _SEGMENT_MAGIC else any(magic)


def write_frame(target: memoryview, offset: int, number: int, body: bytes) -> None:
    """Writes a record at `offset`: body, then header, then the magic that makes it one."""
    start, length = offset + _HEAD, len(body)
    target[start : start + length] = body
    checksum = crc32(body, crc32(_NUMBER.pack(number)))  # `_checksum`, without a call
    FRAME.pack_into(target, offset, 0, length, checksum, 0, number)
    target[offset : offset + 4] = _MAGIC_BYTES


def blank_checksum(number: int, length: int) -> bytes:
    """What a header has at `CHECKSUM_AT` when the body is all zeros."""
    return _CHECKSUM.pack(_checksum(number, bytes(length)))


def header_at(data: bytes, offset: int) -> tuple[int, int] | None:
    """Length and number that a header says, whatever became of its body; None where there is none."""
    if offset + FRAME.size > len(data):
        return None
    magic, length, _, _, number = FRAME.unpack_from(data, offset)
    return (length, number) if magic == _MAGIC else None


def scan(data: bytes, offset: int) -> Iterator[Frame | int]:
    """The frames from `offset` on, in order; an int is a damaged stretch of so many bytes between two frames.

    Ends at the last frame: what follows is a live tail, an unfinished record or nothing, and only the writer's
    lock can tell.
    """
    while True:
        frame = _frame_at(data, offset)
        if frame is not None:
            yield frame
            offset = frame.end
            continue
        found = _resynchronise(data, offset)
        if found is None:
            return
        yield found - offset
        offset = found


def _frame_at(data: bytes, offset: int) -> Frame | None:
    if offset + FRAME.size > len(data):
        return None
    magic, length, crc, _, number = FRAME.unpack_from(data, offset)
    if magic != _MAGIC:
        return None
    start = offset + FRAME.size
    body = data[start : start + length]
    if len(body) != length or crc != _checksum(number, body):
        return None
    return Frame(number, body, offset + frame_size(length))


def _resynchronise(data: bytes, offset: int) -> int | None:
    at = data.find(_MAGIC_BYTES, offset + 1)
    while at != -1:
        if at % _ALIGN == 0 and _frame_at(data, at) is not None:
            return at
        at = data.find(_MAGIC_BYTES, at + 1)
    return None


def _checksum(number: int, body: bytes) -> int:
    return crc32(body, crc32(_NUMBER.pack(number)))
