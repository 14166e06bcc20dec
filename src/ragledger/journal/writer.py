"""Appending: a memory copy under one short lock. No system call unless a segment could not be prepared ahead.

Mapped and not written, because a system call releases the interpreter lock: beside one busy Python thread an append
by `os.write` took 5 ms at the median and a mapped one 19 µs (docs/decisions.md).
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from pathlib import Path
from typing import Literal
from uuid import UUID

from . import directory as files
from . import frames
from .segment import Segment
from .state import ATTEMPTED, PUBLISHED, Identity, WriterState

__all__ = ["JournalWriter"]

_LOOKS, _LOOK_S = 50, 0.02
_FIRST_SEGMENT = 256 * 1024
_LARGEST_SEGMENT = 4 * 1024 * 1024
_GROWTH = 4
_LARGEST_BODY = 16 * 1024 * 1024
_MOST_RETIRED = 4


class JournalWriter:
    """One process's stream of numbered records. Not for use after a fork: the child makes its own.

    `fsync` says when the disk has a record: whenever the system writes it back, at the next `sync`, or before `append`
    returns.
    """

    def __init__(
        self,
        directory: Path,
        writer_id: UUID,
        identity: Identity,
        cap_bytes: int,
        *,
        fsync: Literal["none", "batch", "always"] = "none",
    ) -> None:
        self.directory = directory
        self.writer_id = writer_id
        self.state = WriterState.create(
            files.lock_path(directory, writer_id.hex), writer_id, identity, time.time_ns() // 1000
        )
        self.closed = threading.Event()
        self.crowded = False
        """Whether the directory is past half of its cap, as of the last segment: the rest is for rows, not for texts."""
        self._durable = fsync != "none"
        self._always = fsync == "always"
        if self._durable:
            self.state.sync()
            files.sync_names(directory)
        self._cap_bytes = cap_bytes
        self._lock = threading.RLock()
        # Held by whoever syncs or closes the current segment; taken before the other, never while that is held.
        self._syncing = threading.RLock()
        self._number = 0
        self._segment: Segment | None = None
        self._next: Segment | None = None
        self._retired: list[Segment] = []
        self._offset = 0
        self._synced = 0
        # Mode `always`: the last record that is written and where it ends; how far the disk has the segment.
        self._written = (0, 0)
        self._durable_end = 0
        self._taken_back = 0
        self._last_n = 0
        self._size = _FIRST_SEGMENT
        self._blocked: str | None = None
        self._closed = False

    def append(self, body: bytes) -> str | None:
        """Keeps a record; None when it will survive the process, else the reason of the refusal.

        `closed` is not counted: whoever gets it asks another writer.
        """
        lock = self._lock
        # Owned already: a signal handler interrupted an append of its own thread. Asking the lock itself leaves
        # no state that an exception at the wrong moment could leave behind.
        if lock._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001  what threading.Condition does
            return self.state.refuse("reentry")
        with lock:
            if self._closed:
                return "closed"
            size, segment, offset = frames.frame_size(len(body)), self._segment, self._offset
            if segment is None or offset + size > segment.size:
                refusal = self._rotate(len(body))
                if refusal is not None:
                    return self.state.refuse(refusal)
                segment, offset = self._segment, self._offset
                assert segment is not None
            counters = self.state.counters
            counters[ATTEMPTED] += 1
            # Taken before it is written: after an exception here (Ctrl-C) the place and the number stay unused,
            # instead of being used twice.
            number = self._number + 1
            self._offset, self._number = offset + size, number
            frames.write_frame(segment.view, offset, number, body)
            if not self._always:
                counters[PUBLISHED] = number
                return None
            self._written = number, self._offset
            taken_back = self._taken_back
        return self._make_durable(number, taken_back)

    def prepare(self) -> None:
        """Makes the next segment ahead of need. Called from a background thread, never raises."""
        if self.crowded:
            with contextlib.suppress(OSError):
                self._measure()
        if not self._durable or self._always:
            for retired in self._take_retired():
                retired.close()
        with self._lock:
            if self._next is not None or self._closed:
                return
            n, size = self._take_n(), self._size
        segment, blocked = self._make(n, size, _FIRST_SEGMENT)
        with self._lock:
            self._blocked = blocked
            if segment is None:
                return
            current = self._segment.n if self._segment is not None else 0
            if self._next is None and current < n and not self._closed:
                self._next = segment
                self._size = min(segment.size * _GROWTH, _LARGEST_SEGMENT)
                return
        segment.discard()

    def sync(self) -> None:
        """Has the disk take what was published until now. Called from a background thread; no append waits for it.

        Raises:
            OSError: it did not.
        """
        with self._syncing, contextlib.ExitStack() as left:
            with self._lock:  # in one step: no segment is left in between
                segment, published = self._segment, self.state.published
                retired = self._take_retired()
            for each in retired:
                left.callback(each.close)
                left.callback(each.sync)
            if segment is not None and published != self._synced:
                segment.sync()
                self.state.sync()
                self._synced = published

    def is_there(self) -> bool:
        """Whether its files are still where others look for them."""
        with self._lock:
            if self._closed:
                return True
            segment, prepared = self._segment, self._next
        there = self.state.is_there()
        # A shipper removes a segment that was left in the meantime, and only then.
        if prepared is not None and not prepared.is_there():
            with self._lock:
                there = there and self._next is not prepared
        if segment is not None and not segment.is_there():
            with self._lock:
                there = there and self._segment is not segment
        with self._lock:  # closed meanwhile: nothing is missing
            return there or self._closed

    def leave(self) -> int:
        """Closes a writer whose files are not there; the records with a receipt that nobody can find any more.

        Called from a background thread. Who deletes files may be in the middle of it: what is left is looked at for a
        second. What stays then is salvaged by whoever ships.
        """
        is_lost = self.state.is_unlinked() and self._segments_go()
        self.close()
        return max(0, self.state.published - self.state.shipped) if is_lost else 0

    def _segments_go(self) -> bool:
        """Whether there is none, or soon is none any more."""
        for _ in range(_LOOKS):
            try:
                if not files.segments(self.directory, self.writer_id.hex):
                    return True
            except OSError:
                return True
            time.sleep(_LOOK_S)
        return False

    def seal(self) -> None:
        """Cuts the current segment to what it holds and drops the prepared one: at exit, disk is given back.

        A later append starts another segment, so nothing is lost.
        """
        with self._syncing, self._lock:
            if self._always:
                self._flush()
            elif self._durable:
                with contextlib.suppress(OSError):
                    self.sync()
            segment, self._segment = self._segment, None
            prepared, self._next = self._next, None
            used, self._offset = self._offset, 0
            self._size = _FIRST_SEGMENT
        for retired in self._take_retired():
            retired.close()
        if prepared is not None:
            prepared.discard()
        if segment is not None:
            segment.close()
            with contextlib.suppress(OSError):  # a shipper had it all, or the directory is gone
                os.truncate(segment.path, used)

    def close(self) -> None:
        """No append after this; gives up the lock, so that whoever comes next may adopt what is left."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.closed.set()
        self.seal()
        self.state.close()

    def abandon(self) -> None:
        """In a forked child: lets go of the parent's files without touching what they hold."""
        for segment in (self._segment, self._next, *self._retired):
            if segment is not None:
                segment.close()
        self._segment = self._next = None
        self._retired = []
        self._closed = True
        self.state.close()

    def _rotate(self, length: int) -> str | None:
        """Goes on in the prepared segment, or makes one here when none was prepared in time."""
        needed = frames.HEADER_SIZE + frames.frame_size(length)
        if length > _LARGEST_BODY:
            return "too_large"
        segment = self._next
        if segment is None or segment.size < needed:
            if segment is None and self._blocked is not None:
                return self._blocked  # the background thread asks again; here that would cost system calls
            least = max(_FIRST_SEGMENT, needed)
            made, refusal = self._make(self._take_n(), max(self._size, needed), least)
            if made is None:
                return refusal
            segment, small = made, segment
            self._next = made
            if small is not None:
                small.discard()
            self._size = min(made.size * _GROWTH, _LARGEST_SEGMENT)
        if self._always and not self._flush():
            return "io_error"
        # Let go of before the next one is opened: a reader does not look again at a segment that has a successor.
        previous, self._segment, self._offset = self._segment, None, 0
        frames.open_segment(segment.view, self._number + 1)
        self._segment, self._next, self._offset = segment, None, frames.HEADER_SIZE
        self._durable_end = frames.HEADER_SIZE
        if previous is not None:
            self._retire(previous)
        return None

    def _retire(self, segment: Segment) -> None:
        """The background unmaps it: that would be a system call here."""
        self._retired.append(segment)
        if len(self._retired) > _MOST_RETIRED:  # there is none, or it hangs
            for retired in self._take_retired():
                if self._durable and not self._always:
                    with contextlib.suppress(OSError):
                        retired.sync()
                retired.close()

    def _take_retired(self) -> list[Segment]:
        with self._lock:
            retired, self._retired = self._retired, []
        return retired

    def _make_durable(self, number: int, taken_back: int) -> str | None:
        """Mode `always`: waits until the disk has the record. Threads that wait together share a flush."""
        with self._syncing:
            if self.state.published < number and self._taken_back == taken_back:
                self._flush()
            if self._taken_back == taken_back:
                return None
            with self._lock:
                return self.state.refuse("io_error")

    def _flush(self) -> bool:
        """Has the disk take what is written, and publishes it; False when it did not and the records are taken back."""
        with self._lock:
            segment, (number, end), taken_back = self._segment, self._written, self._taken_back
        if segment is None or number <= self.state.published:
            return True
        try:
            segment.sync()
        except OSError:
            self._take_back()
            return False
        with self._lock:
            # Not when a signal handler's own flush was faster.
            if self._taken_back == taken_back and number > self.state.published:
                self._durable_end, self.state.published = end, number
        return True

    def _take_back(self) -> None:
        """Unwrites what has no receipt yet. The segment is left: the next flush of it would claim to have worked."""
        with self._lock:
            segment, self._segment = self._segment, None
            if segment is not None:
                segment.view[self._durable_end : self._offset] = bytes(self._offset - self._durable_end)
                self._retire(segment)
            missing = self._number - self.state.published
            self._number -= missing
            self.state.attempted -= missing
            self._written, self._offset = (self._number, 0), 0
            self._taken_back += 1

    def _take_n(self) -> int:
        self._last_n += 1
        return self._last_n

    def _measure(self) -> int:
        held = files.size_of(self.directory)
        self.crowded = held > self._cap_bytes / 2
        return held

    def _make(self, n: int, size: int, least: int) -> tuple[Segment | None, str | None]:
        """A segment of `size`, or where there is not so much room of the `least` size."""
        path = files.segment_path(self.directory, self.writer_id.hex, n)
        try:
            if self._measure() + size <= self._cap_bytes:
                return Segment(path, n, size, self.writer_id.bytes, durable=self._durable), None
            refusal = "cap"
        except OSError as exc:
            refusal = "no_space" if exc.errno in {errno.ENOSPC, errno.EDQUOT} else "io_error"
        if size > least and refusal != "io_error":
            return self._make(n, least, least)
        return None, refusal
