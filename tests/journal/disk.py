"""A disk that is looked at, and that may fail."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from journal.doubles import PLENTY, WHO

from ragledger.ids import new_id
from ragledger.journal.writer import JournalWriter

Mode = Literal["none", "batch", "always"]


class Disk:
    """Records every sync, done for real: its thread, the file's name, and what the newest segment held. May fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, Path]] = []
        self.failing = False
        for name in ("fdatasync", "fsync"):
            monkeypatch.setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(fd: int) -> None:
            path = Path(os.readlink(f"/proc/self/fd/{fd}"))
            if self.failing and path.suffix == ".seg":
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(fd)
            self.calls.append((threading.current_thread().name, path))

        return sync

    def synced(self, suffix: str) -> list[str]:
        """The threads that synced such files."""
        return [thread for thread, path in self.calls if path.suffix == suffix]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[Mode], JournalWriter]]:
    made: list[JournalWriter] = []

    def make(fsync: Mode) -> JournalWriter:
        made.append(JournalWriter(tmp_path, new_id(), WHO, PLENTY, fsync=fsync))
        return made[-1]

    yield make
    for writer in made:
        writer.close()


def dirty_kb(path: Path) -> int:
    """What of a mapped file the disk does not have, in the kernel's own words."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            ours = line.endswith(str(path))
        elif ours and words[0] in {"Shared_Dirty:", "Private_Dirty:"}:
            total += int(words[1])
    return total


def newest(writer: JournalWriter) -> Path:
    segment = writer._segment
    assert segment is not None
    return segment.path
