"""A lock that another thread holds."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from ragledger.forks import ForkLock

__all__ = ["held_elsewhere"]


@contextlib.contextmanager
def held_elsewhere(lock: ForkLock) -> Iterator[None]:
    """By another thread, until the block ends."""
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        with lock:
            begun.set()
            end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()
