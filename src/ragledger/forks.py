"""A fork copies one thread. What another one has half done stays half done in the child, for ever.

A module that was being imported can never be imported there, a lock of the C library never be taken, and a lock file
that was just being opened stays locked. So a fork waits for such moments of ours, up to ten seconds: what hangs longer
hangs by itself, and must not keep an application from forking.
"""

from __future__ import annotations

import os
import threading

__all__ = ["unforked"]

_LONGEST_S = 10.0

unforked = threading.RLock()
"""Held where no fork may fall between: `with unforked: from .postgres import ...`. Never while waiting for a network."""


def _before() -> None:
    unforked.acquire(timeout=_LONGEST_S)


def _after_in_parent() -> None:
    if unforked._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001  else the time was up, see writer.py
        unforked.release()


def _after_in_child() -> None:
    if unforked._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001  also uWSGI's, which calls nobody before
        unforked.release()
    else:
        unforked._at_fork_reinit()  # type: ignore[attr-defined]  # noqa: SLF001  its owner does not exist here


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
