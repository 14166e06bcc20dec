"""Reading one writer's journal in order, from where the table says it ends.

What is not readable is not passed over in silence: a missing number becomes a rejected one. Text is blanked in the
segment as soon as the table has it, because a segment stays until the writer has filled it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ragledger.model import holds_text

from . import directory as files
from .blanking import Place, blank, blank_shipped
from .frames import HEADER_SIZE, Frame, frame_size, is_in_use, scan
from .state import WriterState

__all__ = ["Backlog", "Batch"]

_WINDOW = 1 << 20
_MOST_BYTES = 4 << 20  # of a batch: a search may have a thousand hits, and its texts


class _Position(NamedTuple):
    n: int
    offset: int
    number: int


class Batch(NamedTuple):
    """Consecutive numbers `first` to `last`: those that were read, and those that are damaged."""

    frames: tuple[Frame, ...]
    damaged: tuple[int, ...]
    first: int
    last: int
    position: _Position
    texts: tuple[Place, ...]


class Backlog:
    """The unshipped records of one writer. `state` is held (dead writer) or peeked at (live one)."""

    def __init__(self, directory: Path, state: WriterState, *, shipped: int, live: bool) -> None:
        self.directory = directory
        self.state = state
        self.writer = state.writer_id.hex
        self._live = live
        self._position = _Position(0, HEADER_SIZE, shipped)
        self._suspect: tuple[int, int] | None = None
        self._looks_back = shipped > 0

    @property
    def shipped(self) -> int:
        """The last number that has left."""
        return self._position.number

    def rewind(self, shipped: int) -> None:
        """Starts over from the table's watermark: another shipper was faster, or a commit's answer was lost."""
        self._position = _Position(0, HEADER_SIZE, shipped)
        self._looks_back = True

    def next_batch(self, limit: int) -> Batch | None:
        """Up to `limit` numbers after the last commit, and about 4 MB; None when there is nothing new that is complete."""
        # Said here too: a commit whose answer was lost, and another shipper's, are known from the table only.
        self.state.shipped = max(self.state.shipped, self.shipped)
        if self._looks_back:
            # Whoever took these to the table may not have come to blank them. Also when there is nothing new.
            blank_shipped(self.directory, self.writer, self.shipped)
            self._looks_back = False
        gathering = _Gathering(self.shipped, limit)
        n, offset = self._position.n, self._position.offset
        while not gathering.is_full and not self._has_all(gathering.number):
            # Asked before reading: a segment that has a successor gets no more records.
            following = self._next_in_use(n)
            offset = self._read(n, offset, gathering, final=following is not None)
            if following is None or gathering.is_full:
                break
            n, offset = following, HEADER_SIZE
        if not self._live:
            gathering.lose_until(self.state.published)
            # A record that is there was begun and finished, whatever a damaged state file says.
            self.state.published = max(self.state.published, gathering.number)
            self.state.attempted = max(self.state.attempted, gathering.number)
        position = _Position(n, offset, gathering.number)
        if gathering.number == self.shipped:
            self._position = position
            return None
        first = self.shipped + 1
        texts = tuple([place for place in gathering.texts if first <= place.number <= gathering.number])
        return Batch(
            tuple(gathering.frames), tuple(gathering.damaged), first, gathering.number, position, texts
        )

    def commit(self, batch: Batch) -> None:
        """The table has the batch: move on and remove segments that are behind."""
        self._position = batch.position
        self.state.shipped = max(self.state.shipped, batch.last)
        blank(self.directory, self.writer, batch.texts)
        for n, path in files.segments(self.directory, self.writer):
            if n < batch.position.n:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Removes what a dead writer left, when all of it is in the table: segments first, then the lock file."""
        for _, path in files.segments(self.directory, self.writer):
            path.unlink(missing_ok=True)
        self.state.path.unlink(missing_ok=True)
        self.state.close()

    def close(self) -> None:
        """Lets go of the writer; its files stay."""
        self.state.close()

    def _has_all(self, number: int) -> bool:
        """Whether a live writer has published nothing after `number`. What a dead one left is read to its end."""
        return self._live and self.state.published <= number

    def _read(self, n: int, offset: int, gathering: _Gathering, *, final: bool) -> int:
        """Gathers the frames of a segment from `offset` on; where it stopped."""
        if n == 0:
            return offset
        try:
            with files.segment_path(self.directory, self.writer, n).open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                window = _WINDOW
                while offset < size and not gathering.is_full and not self._has_all(gathering.number):
                    reached = self._read_window(file, (n, offset, window), gathering, final=final)
                    if reached > offset:
                        offset = reached
                    elif offset + window >= size:
                        break
                    else:
                        window *= 4  # a record that is larger, or so much damage
        except FileNotFoundError:
            pass  # another shipper removed it: the numbers tell
        return offset

    def _read_window(
        self, file: BinaryIO, place: tuple[int, int, int], gathering: _Gathering, *, final: bool
    ) -> int:
        n, start, length = place
        data = os.pread(file.fileno(), length, start)
        offset = start
        for found in scan(data, 0):
            if isinstance(found, Frame):
                if not gathering.take(found):
                    break
                offset = start + found.end
                if holds_text(found.body):
                    length = len(found.body)
                    gathering.texts.append(Place(n, offset - frame_size(length), found.number, length))
                if gathering.is_full or self._has_all(gathering.number):
                    break
            elif self._is_damage(n, offset, final=final):
                offset += found
            else:
                break
        return offset

    def _is_damage(self, n: int, offset: int, *, final: bool) -> bool:
        """A hole before a readable record is damage, unless the writer lives and may be filling it just now."""
        if final or not self._live or self._suspect == (n, offset):
            return True
        self._suspect = (n, offset)
        return False

    def _next_in_use(self, n: int) -> int | None:
        """The first segment after `n` that may hold records: of a dead writer any, whatever its header says."""
        for number, path in files.segments(self.directory, self.writer):
            if number > n and (not self._live or _is_in_use(path)):
                return number
        return None


def _is_in_use(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return is_in_use(file.read(HEADER_SIZE))
    except FileNotFoundError:
        return False


class _Gathering:
    """Frames in the order of their numbers, and the numbers that are missing between them."""

    def __init__(self, number: int, limit: int) -> None:
        self.number = number
        self.frames: list[Frame] = []
        self.damaged: list[int] = []
        self.texts: list[Place] = []
        self._limit = limit
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return self._room <= 0

    def take(self, frame: Frame) -> bool:
        """Takes the frame in; False when there is no room for it and what is missing before it."""
        if frame.number <= self.number:
            return True  # in the table already
        self.lose_until(frame.number - 1)
        if self.is_full:
            return False
        self.frames.append(frame)
        self._bytes += len(frame.body)
        self.number = frame.number
        return True

    def lose_until(self, number: int) -> None:
        """Counts what is missing up to `number`, as far as there is room."""
        reached = min(number, self.number + self._room)
        if reached > self.number:
            self.damaged.extend(range(self.number + 1, reached + 1))
            self.number = reached

    @property
    def _room(self) -> int:
        if self._bytes >= _MOST_BYTES:
            return 0  # for what is missing neither: what follows may be there
        return self._limit - len(self.frames) - len(self.damaged)
