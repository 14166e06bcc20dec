"""A fork copies one thread. What another one has half done stays half done in the child, for ever.

A module that was being imported can never be imported there, a lock of the C library never be taken, and a lock file
that was just being opened stays locked. So a fork waits for such moments of ours, up to ten seconds: what hangs longer
hangs by itself, and must not keep an application from forking.
"""

from __future__ import annotations

import os
import threading
import time

__all__ = ["ForkLock", "unforked"]

_LONGEST_S = 10.0
_locks: list[ForkLock] = []


class ForkLock:
    """Held where no fork may fall between, by one thread at a time, which may take it again. Free in a child.

    Made by a module, once: a fork takes all that there are, the latest first, so the holder of one may take an earlier
    one and never the other way round. Threads that do background work and threads that an application waits for have
    different ones.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holds = 0
        self._hung = -1
        _locks.append(self)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._holds += 1

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @property
    def held(self) -> bool:
        """Whether this thread holds it."""
        return self._lock._is_owned()  # type: ignore[attr-defined, no-any-return]  # noqa: SLF001  there is no other way to ask

    def take(self, seconds: float) -> bool:
        """Takes it within so long; the caller gives it back. A holder that was waited for in vain is not waited for again."""
        holds = self._holds
        taken = self._lock.acquire(timeout=0 if holds == self._hung else seconds)
        if taken:
            self._hung = -1
        elif seconds > 0:
            self._hung = holds
        return taken

    def give_back(self) -> None:
        """Ends what `take` began. A fork that waited in vain does not hold it and has nothing to give back."""
        if self.held:
            self._lock.release()

    def make_fresh(self) -> None:
        """In a child: its holder may be a thread that does not exist here."""
        self._hung = -1
        if self.held:
            self._lock.release()
        else:  # waited for in vain; or forked by uWSGI, which calls nobody before
            self._lock._at_fork_reinit()  # type: ignore[attr-defined]  # noqa: SLF001  as `threading` does with its own


unforked = ForkLock()
"""For background work and for imports: `with unforked: from .postgres import ...`. Never while waiting for a network."""


def _before() -> None:
    deadline = time.monotonic() + _LONGEST_S
    for lock in reversed(_locks):
        lock.take(max(0.0, deadline - time.monotonic()))


def _after_in_parent() -> None:
    for lock in _locks:
        lock.give_back()


def _after_in_child() -> None:
    for lock in _locks:
        lock.make_fresh()


if hasattr(os, "register_at_fork"):  # not where nobody can fork
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
