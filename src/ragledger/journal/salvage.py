"""Writers whose lock file is damaged or gone: what they left can still be read, so it must reach the table.

Their records say which application made them; only who the writer was (host, pid) stays unknown.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from ragledger.ids import time_of

from . import directory as files
from .segment import is_held
from .state import Identity, WriterState, condition_of

__all__ = ["Stray", "mend", "strays"]

_WRITER = re.compile(r"[0-9a-f]{32}")
_UNKNOWN = Identity(project="unknown", host="unknown")
_WORDS = {
    "damaged": "its lock file is damaged",
    "gone": "its lock file is missing",
    "newer": "it was made by a newer release",
    "forbidden": "its lock file may not be read",
}


class Stray(NamedTuple):
    """A writer, as 32 hex digits, that cannot be adopted as it is, and why."""

    writer: str
    why: str


def strays(directory: Path) -> list[Stray]:
    """Every writer here whose journal cannot be shipped as it is. Changes nothing."""
    try:
        left = files.writers_with_segments(directory)
        named = {path.stem for path in files.locks(directory) if _WRITER.fullmatch(path.stem)}
    except OSError:
        return []  # no directory, no journal; whoever needs one says so
    found = []
    for writer in sorted(left | named):
        condition = condition_of(files.lock_path(directory, writer))
        # Removed in between, by whoever shipped it all: segments first.
        is_finished = condition == "gone" and not files.segments(directory, writer)
        if condition != "fine" and not is_finished:
            found.append(Stray(writer, _WORDS[condition]))
    return found


def mend(directory: Path) -> tuple[list[Stray], list[Stray]]:
    """Gives the dead ones among them a new lock file, so that they can be adopted: those it did, and those left."""
    mended: list[Stray] = []
    left: list[Stray] = []
    for stray in strays(directory):
        if any(is_held(path) for _, path in files.segments(directory, stray.writer)):
            continue  # it lives, and will notice by itself
        try:
            done = stray.why in {_WORDS["damaged"], _WORDS["gone"]} and _mend(directory, stray.writer)
        except OSError:
            done = False
        (mended if done else left).append(stray)
    return mended, left


def _mend(directory: Path, writer: str) -> bool:
    """True when there is a readable lock file now, and nobody holds it."""
    path = files.lock_path(directory, writer)
    with contextlib.ExitStack() as held:
        if path.exists():
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            held.callback(os.close, fd)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(fd)

            def still() -> bool:
                return files.leads_to(path, found)
        else:

            def still() -> bool:
                return not path.exists() and bool(files.segments(directory, writer))

        writer_id = UUID(hex=writer)
        made = time_of(writer_id)
        started_at = int(made.timestamp() * 1_000_000) if made is not None else 0
        WriterState.create(path, writer_id, _UNKNOWN, started_at, pid=0, still=still).close()
    return True
