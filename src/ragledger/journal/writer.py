"""Appending: a memory copy under one short lock. No system call unless a segment could not be prepared ahead.

Mapped and not written, because a system call releases the interpreter lock: beside one busy Python thread an append
by `os.write` took 5 ms at the median and a mapped one 19 µs (docs/decisions.md).
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import threading
import time
from pathlib import Path
from uuid import UUID

from . import directory as files
from . import frames
from .state import Identity, WriterState

__all__ = ["JournalWriter"]

_FIRST_SEGMENT = 256 * 1024
_LARGEST_SEGMENT = 4 * 1024 * 1024
_GROWTH = 4
_LARGEST_BODY = 16 * 1024 * 1024


class _Segment:
    """A mapped file that records are copied into."""

    def __init__(self, path: Path, n: int, size: int, writer: bytes) -> None:
        self.path = path
        self.n = n
        self.size = size
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            files.reserve(fd, size)
            self._map = mmap.mmap(fd, size)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)
        self.view = memoryview(self._map)
        frames.prepare_segment(self.view, writer, n)

    def close(self) -> None:
        self.view.release()
        self._map.close()


class JournalWriter:
    """One process's stream of numbered records. Not for use after a fork: the child makes its own."""

    def __init__(self, directory: Path, writer_id: UUID, identity: Identity, cap_bytes: int) -> None:
        self.directory = directory
        self.writer_id = writer_id
        self.state = WriterState.create(
            files.lock_path(directory, writer_id.hex), writer_id, identity, time.time_ns() // 1000
        )
        self._cap_bytes = cap_bytes
        self._lock = threading.RLock()
        self._number = 0
        self._segment: _Segment | None = None
        self._next: _Segment | None = None
        self._offset = 0
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
            end = self._offset + frames.frame_size(len(body))
            segment = self._segment
            if segment is None or end > segment.size:
                refusal = self._rotate(len(body))
                if refusal is not None:
                    return self.state.refuse(refusal)
                segment = self._segment
                assert segment is not None
                end = self._offset + frames.frame_size(len(body))
            state = self.state
            state.attempted += 1
            # Taken before it is written: after an exception here (Ctrl-C) the place and the number stay unused,
            # instead of being used twice.
            offset, number = self._offset, self._number + 1
            self._offset, self._number = end, number
            frames.write_frame(segment.view, offset, number, body)
            state.published = number
            return None

    def prepare(self) -> None:
        """Makes the next segment ahead of need. Called from a background thread, never raises."""
        with self._lock:
            if self._next is not None or self._closed:
                return
            n, size = self._take_n(), self._size
        segment, blocked = self._make(n, size)
        with self._lock:
            self._blocked = blocked
            if segment is None:
                return
            current = self._segment.n if self._segment is not None else 0
            if self._next is None and current < n and not self._closed:
                self._next = segment
                self._size = min(self._size * _GROWTH, _LARGEST_SEGMENT)
                return
        _discard(segment)

    def seal(self) -> None:
        """Cuts the current segment to what it holds and drops the prepared one: at exit, disk is given back.

        A later append starts another segment, so nothing is lost.
        """
        with self._lock:
            segment, self._segment = self._segment, None
            prepared, self._next = self._next, None
            used, self._offset = self._offset, 0
            self._size = _FIRST_SEGMENT
        if prepared is not None:
            _discard(prepared)
        if segment is not None:
            segment.close()
            with contextlib.suppress(FileNotFoundError):  # a shipper had it all
                os.truncate(segment.path, used)

    def close(self) -> None:
        """No append after this; gives up the lock, so that whoever comes next may adopt what is left."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.seal()
        self.state.close()

    def abandon(self) -> None:
        """In a forked child: lets go of the parent's files without touching what they hold."""
        for segment in (self._segment, self._next):
            if segment is not None:
                segment.close()
        self._segment = self._next = None
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
            made, refusal = self._make(self._take_n(), max(self._size, needed))
            if made is None:
                return refusal
            segment, small = made, segment
            self._next = made
            if small is not None:
                _discard(small)
            self._size = min(self._size * _GROWTH, _LARGEST_SEGMENT)
        # Let go of before the next one is opened: a reader does not look again at a segment that has a successor.
        previous, self._segment, self._offset = self._segment, None, 0
        frames.open_segment(segment.view, self._number + 1)
        self._segment, self._next, self._offset = segment, None, frames.HEADER_SIZE
        if previous is not None:
            previous.close()
        return None

    def _take_n(self) -> int:
        self._last_n += 1
        return self._last_n

    def _make(self, n: int, size: int) -> tuple[_Segment | None, str | None]:
        path = files.segment_path(self.directory, self.writer_id.hex, n)
        try:
            if files.size_of(self.directory) + size > self._cap_bytes:
                return None, "cap"
            return _Segment(path, n, size, self.writer_id.bytes), None
        except OSError as exc:
            return None, "no_space" if exc.errno in {errno.ENOSPC, errno.EDQUOT} else "io_error"


def _discard(segment: _Segment) -> None:
    segment.close()
    segment.path.unlink(missing_ok=True)
