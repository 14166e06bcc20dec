"""A writer's counters in its lock file, mapped: they survive the process at the price of a memory write.

Layout: magic 8, version 4, pid 4, writer 16, started_at 8 (µs since 1970), attempted 8, published 8, shipped 8,
then one 8-byte counter per refusal reason; at 512 a msgpack map {project, host}. Counters are in the machine's own
byte order and stored by one instruction each: `struct` would write a zero and then byte by byte, and a process
killed in between would leave a number that never was.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import struct
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec

from ragledger import sanitise
from ragledger.forks import ForkLock

from . import directory as files

__all__ = ["REASONS", "Condition", "Identity", "WriterState", "condition_of", "lock_is_free"]

REASONS = ("cap", "no_space", "too_large", "reentry", "io_error", "no_journal", "lost", "texts_cap")
"""Why a record can be refused, in the order of the counters. Append only.

`no_journal` was counted before there was this writer. `lost` had receipts: somebody deleted the journal before it was
shipped.
"""

Condition = Literal["fine", "damaged", "newer", "forbidden", "gone"]

_MAGIC = b"RGLSTATE"
_STATIC = struct.Struct("<8sII16sQ")
ATTEMPTED, PUBLISHED, _SHIPPED, _REFUSED = 5, 6, 7, 8
"""Where in `counters`: the append path writes there itself."""
_IDENTITY = 512
_LENGTH = _IDENTITY // 8
_SIZE = 4096
_VERSION = 1
_MANY = 1 << 40


class Identity(msgspec.Struct, frozen=True):
    """Who a writer is."""

    project: str
    host: str

    @classmethod
    def here(cls, project: str) -> Identity:
        """Of a writer on this host, in words that the database takes: others would stop the whole writer."""
        changed: set[str] = set()
        return cls(
            project=sanitise.text(project, changed) or "",
            host=sanitise.text(os.uname().nodename, changed) or "",
        )


class WriterState:
    """The lock and the counters of one writer: held by the writer itself, or by whoever adopts a dead one.

    No fork falls between opening the file and the list of those that a child lets go of; what takes longer comes after.
    """

    def __init__(self, path: Path, fd: int, page: mmap.mmap) -> None:
        self.path = path
        self._fd = fd
        self._page = page
        self.writer_id, self.pid, self.started_at, self.identity = _who(page)
        self.counters = memoryview(page).cast("Q")
        _held.add(self)

    @classmethod
    def create(
        cls,
        path: Path,
        writer_id: UUID,
        identity: Identity,
        started_at: int,
        *,
        pid: int | None = None,
        still: Callable[[], bool] = lambda: True,
    ) -> WriterState:
        """Makes the file, locked from its first visible moment: it is filled under a name nobody looks for.

        Args:
            still: asked when nobody else can be making the same file: whether it is still to be made.

        Raises:
            OSError: no space, no permission, somebody else is making it or has made it.
        """
        hidden = path.with_suffix(".new")
        raw = msgspec.msgpack.encode(identity)
        pid = os.getpid() if pid is None else pid
        fd = _open_file(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not still():
                raise FileExistsError(path.name)  # noqa: TRY301  cleaned up below
            files.reserve(fd, _SIZE)
            page = mmap.mmap(fd, _SIZE)
            _STATIC.pack_into(page, 0, _MAGIC, _VERSION, pid, writer_id.bytes, started_at)
            struct.pack_into("=Q", page, _IDENTITY, len(raw))
            page[_IDENTITY + 8 : _IDENTITY + 8 + len(raw)] = raw
            os.rename(hidden, path)
            return cls(path, fd, page)
        except BaseException:
            _close_file(fd)
            hidden.unlink(missing_ok=True)
            raise

    @classmethod
    def peek(cls, path: Path) -> WriterState | None:
        """The counters of a writer, dead or alive, without its lock. None when the file is gone or unreadable."""
        return cls._open(path, lock=False)

    @classmethod
    def adopt(cls, path: Path) -> WriterState | None:
        """Takes over a dead writer. None while it lives, or when another one was faster."""
        return cls._open(path, lock=True)

    @classmethod
    def _open(cls, path: Path, *, lock: bool) -> WriterState | None:
        try:
            fd = _open_file(path, os.O_RDWR)
        except OSError:
            return None
        try:
            if lock:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Between open and lock the last adopter may have finished and unlinked the file.
                if not files.leads_to(path, os.fstat(fd)):
                    raise FileNotFoundError(path.name)
            return cls(path, fd, mmap.mmap(fd, _SIZE))
        except (OSError, ValueError, msgspec.DecodeError):
            _close_file(fd)
            return None

    @property
    def attempted(self) -> int:
        """Appends that were begun."""
        return self.counters[ATTEMPTED]

    @attempted.setter
    def attempted(self, value: int) -> None:
        self.counters[ATTEMPTED] = value

    @property
    def published(self) -> int:
        """The number of the latest record that is complete."""
        return self.counters[PUBLISHED]

    @published.setter
    def published(self, value: int) -> None:
        self.counters[PUBLISHED] = value

    @property
    def shipped(self) -> int:
        """A mirror of the watermark in the database, for whoever looks while that is down."""
        return self.counters[_SHIPPED]

    @shipped.setter
    def shipped(self, value: int) -> None:
        self.counters[_SHIPPED] = value

    @property
    def refused(self) -> dict[str, int]:
        """Refusals by reason, without the zeros."""
        counts = {reason: self.counters[_REFUSED + index] for index, reason in enumerate(REASONS)}
        return {reason: number for reason, number in counts.items() if number}

    def refuse(self, reason: str, times: int = 1) -> str:
        """Counts refusals and gives their reason back."""
        self.counters[_REFUSED + REASONS.index(reason)] += times
        return reason

    def sync(self) -> None:
        """Has the disk take the counters. Raises OSError."""
        if hasattr(os, "fdatasync"):
            os.fdatasync(self._fd)
        else:
            self._page.flush()
            os.fsync(self._fd)

    def is_there(self) -> bool:
        """Whether its name still leads to it, and what it says can still be read."""
        try:
            _who(self._page)
            return files.leads_to(self.path, os.fstat(self._fd))
        except (ValueError, msgspec.DecodeError, OSError):  # the last one: closed by another thread since
            return False

    def is_unlinked(self) -> bool:
        """Whether nobody can find the file any more, under any name."""
        return os.fstat(self._fd).st_nlink == 0

    def close(self) -> None:
        """Gives up lock and map; the last counters can still be read.

        In a forked child this leaves the parent's lock alone: it closes a duplicate.
        """
        with _files:
            if self._fd >= 0:
                mapped, self.counters = self.counters, memoryview(bytearray(self._page[:])).cast("Q")
                mapped.release()
                self._page.close()
                _close_file(self._fd)
                self._fd = -1


def _who(page: mmap.mmap) -> tuple[UUID, int, int, Identity]:
    """Writer, pid, start and identity. Raises ValueError or DecodeError where they or the counters cannot be right."""
    magic, version, pid, writer, started_at = _STATIC.unpack_from(page)
    if magic != _MAGIC or version != _VERSION:
        raise ValueError("not a writer's state file of this version")
    counters = struct.unpack_from(f"={3 + len(REASONS)}Q", page, ATTEMPTED * 8)
    if max(counters) >= _MANY or started_at >= _MANY << 20:
        raise ValueError("counters that no writer has")
    (length,) = struct.unpack_from("=Q", page, _IDENTITY)
    raw = page[_IDENTITY + 8 : _IDENTITY + 8 + min(length, _SIZE - _IDENTITY - 8)]
    return UUID(bytes=writer), pid, started_at, msgspec.msgpack.decode(raw, type=Identity)


def condition_of(path: Path) -> Condition:
    """Whether a state file can be read, and if not why."""
    try:
        head = path.read_bytes()[: _STATIC.size]
    except OSError as exc:
        return "gone" if isinstance(exc, FileNotFoundError) else "forbidden"
    if len(head) == _STATIC.size and head[:8] == _MAGIC and _STATIC.unpack(head)[1] > _VERSION:
        return "newer"
    state = WriterState.peek(path)
    if state is None:
        return "damaged" if path.exists() else "gone"
    state.close()
    return "fine"


def lock_is_free(path: Path) -> bool:
    """Whether the writer of this lock file is dead."""
    state = WriterState.adopt(path)
    if state is None:
        return False
    state.close()
    return True


def _open_file(path: Path, flags: int) -> int:
    with _files:
        fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
        _descriptors.add(fd)
    return fd


def _close_file(fd: int) -> None:
    with _files:
        _descriptors.discard(fd)
        os.close(fd)


# Its own: the first search of a forked child makes a writer, and must not wait for an import.
_files = ForkLock()
_descriptors: set[int] = set()
_held: weakref.WeakSet[WriterState] = weakref.WeakSet()


def _after_fork() -> None:
    """A child that kept a lock file open would keep its writer alive: the parent's, or one that the parent adopts."""
    for state in list(_held):
        state.close()
    for fd in list(_descriptors):  # a state that a thread of the parent was just making
        with contextlib.suppress(OSError):
            _close_file(fd)


os.register_at_fork(after_in_child=_after_fork)
