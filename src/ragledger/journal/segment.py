"""A mapped file that records are copied into."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import threading
from pathlib import Path

from . import directory as files
from . import frames

__all__ = ["Segment", "is_held"]


class Segment:
    """Locked for as long as it is mapped: whoever finds it without its writer's lock file knows whether that lives.

    With `durable` the disk has its name and its size before the first record.
    """

    def __init__(self, path: Path, n: int, size: int, writer: bytes, *, durable: bool) -> None:
        self.path = path
        self.n = n
        self.size = size
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            files.reserve(fd, size)
            if durable:
                os.fsync(fd)
                files.sync_names(path.parent)
            self._place = os.fstat(fd)
            # It keeps a duplicate of the descriptor, and so the lock.
            self._map = mmap.mmap(fd, size)
        except BaseException:
            path.unlink(missing_ok=True)
            os.close(fd)
            raise
        self._failed: OSError | None = None
        self._sync_lock = threading.RLock()
        self._fd = fd if durable else -1
        if not durable:
            os.close(fd)
        self.view = memoryview(self._map)
        frames.prepare_segment(self.view, writer, n)

    def sync(self) -> None:
        """Has the disk take everything that was written so far. Not by `mmap.flush`: that keeps the interpreter lock.

        Raises:
            OSError: it did not; what was written since the last time may be lost with the power.
        """
        with self._sync_lock:
            # The system reports a failure once and then forgets what it could not write.
            if self._failed is not None:
                raise self._failed
            try:
                if hasattr(os, "fdatasync"):
                    os.fdatasync(self._fd)
                else:
                    self._map.flush()
                    os.fsync(self._fd)
            except OSError as exc:
                self._failed = exc
                raise

    def is_there(self) -> bool:
        """Whether its name still leads to it."""
        return files.leads_to(self.path, self._place)

    def close(self) -> None:
        """Lets go of it; the file stays."""
        self.view.release()
        self._map.close()
        fd, self._fd = self._fd, -1  # first: a child forked in between must not close it a second time
        if fd >= 0:
            os.close(fd)

    def discard(self) -> None:
        """Lets go of it and removes the file."""
        self.close()
        with contextlib.suppress(OSError):  # the directory is gone, or cannot be written any more
            self.path.unlink()


def is_held(path: Path) -> bool:
    """Whether a writer that lives has the segment mapped."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
