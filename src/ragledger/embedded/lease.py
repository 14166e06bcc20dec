"""File locks between processes, which a forked child never keeps for its parent.

A lock belongs to the open file, and a fork copies the open file: a child that outlived its killed parent would keep the
parent's lease, and the server, alive. So every descriptor opened here is closed in a forked child; the child has to take
a lock of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from ragledger.forks import unforked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileLock"]

_descriptors: set[int] = set()


class FileLock:
    """One lock on one file. Never waits: `take` says at once whether the lock was got."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._pid = 0

    def take(self, *, shared: bool) -> bool:
        """Take the lock unless somebody holds it against us; creates the file."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        with unforked:  # no fork sees one that is not in the set
            if self.held:
                return True
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return False
            except BaseException:
                os.close(descriptor)
                raise
            _descriptors.add(descriptor)
            self._descriptor, self._pid = descriptor, os.getpid()
        return True

    @property
    def held(self) -> bool:
        """Whether this process holds the lock (a forked child does not)."""
        return self._descriptor is not None and self._pid == os.getpid()

    def fileno(self) -> int:
        """The descriptor to pass to a child process that shall hold the lock too."""
        if self._descriptor is None or not self.held:
            raise ValueError(f"{self.path} is not locked by this process")
        return self._descriptor

    def release(self) -> None:
        """Unlock for everybody who shares the open file, and close. Does nothing when not held."""
        if self.held:
            # Not close() alone: a copy made by a fork in C code would keep the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(self.fileno(), fcntl.LOCK_UN)
        self.let_go()

    def let_go(self) -> None:
        """Close our copy; a child process that was given the descriptor goes on holding the lock."""
        with unforked:  # no fork sees one that is not in the set
            if self._descriptor is not None and self.held:
                _descriptors.discard(self._descriptor)
                os.close(self._descriptor)
            self._descriptor = None


def _forget_in_child() -> None:
    for descriptor in _descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _descriptors.clear()


os.register_at_fork(after_in_child=_forget_in_child)
