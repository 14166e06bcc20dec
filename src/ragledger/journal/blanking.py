"""Taking text out of a segment whose records the table has: zeros over the body, then the checksum of zeros.

In that order, so that a header stays whole whatever dies in between: it says that the record was to be blanked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ragledger.model import holds_text

from . import directory as files
from .frames import CHECKSUM_AT, FRAME, HEADER_SIZE, Frame, blank_checksum, frame_size, header_at, scan

__all__ = ["Place", "blank", "blank_shipped"]


class Place(NamedTuple):
    """Where a record of texts is: its segment, its offset there, its number and the length of its body."""

    n: int
    offset: int
    number: int
    length: int


def blank(directory: Path, writer: str, places: Sequence[Place]) -> None:
    """Leaves whole records of the same numbers and lengths that say nothing."""
    for n, within in groupby(places, lambda place: place.n):
        path = files.segment_path(directory, writer, n)
        with contextlib.suppress(FileNotFoundError), path.open("r+b", buffering=0) as file:
            for place in within:
                _write(file.fileno(), bytes(place.length), place.offset + FRAME.size)
                _write(file.fileno(), blank_checksum(place.number, place.length), place.offset + CHECKSUM_AT)


def blank_shipped(directory: Path, writer: str, shipped: int) -> None:
    """Blanks what is left of texts up to number `shipped`: whoever took them to the table died before, or half-way."""
    for n, path in files.segments(directory, writer):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        places, beyond = _texts_in(n, data, shipped)
        blank(directory, writer, places)
        if beyond:
            return


def _texts_in(n: int, data: bytes, shipped: int) -> tuple[list[Place], bool]:
    """Those up to `shipped`, and whether the segment goes on beyond it."""
    places: list[Place] = []
    offset = HEADER_SIZE
    for found in scan(data, HEADER_SIZE):
        if isinstance(found, Frame):
            if found.number > shipped:
                return places, True
            length = len(found.body)
            if holds_text(found.body):
                places.append(Place(n, found.end - frame_size(length), found.number, length))
            offset = found.end
        else:
            places += _torn(n, data, offset, offset + found, shipped)
            offset += found
    places += _torn(n, data, offset, len(data), shipped)
    return places, False


def _torn(n: int, data: bytes, offset: int, end: int, shipped: int) -> Iterator[Place]:
    """Records in a damaged stretch whose headers are whole: blanked half-way, or damaged, and in the table anyhow."""
    while (header := header_at(data, offset)) is not None:
        length, number = header
        after = offset + frame_size(length)
        if not 0 < number <= shipped or after > end:
            return
        yield Place(n, offset, number, length)
        offset = after


def _write(fd: int, data: bytes, offset: int) -> None:
    """All of it: a call may write less."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, offset)
        rest, offset = rest[written:], offset + written
