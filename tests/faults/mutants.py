"""Copies of the package with one defence taken out: the suite must notice, or it proves nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import ragledger


class Mutant(NamedTuple):
    """In `file`, `text` becomes `instead`; `scenario` plays it and the check must turn red."""

    what: str
    file: str
    text: str
    instead: str
    scenario: tuple[str, ...]

    def __str__(self) -> str:
        return self.what

    def make(self, directory: Path) -> Path:
        """A directory for PYTHONPATH with the changed package."""
        package = unchanged(directory)
        path = package / "ragledger" / self.file
        source = path.read_text(encoding="utf-8")
        assert source.count(self.text) == 1, f"{self.file} has changed: write the mutant anew"
        path.write_text(source.replace(self.text, self.instead), encoding="utf-8")
        return package


def unchanged(directory: Path) -> Path:
    """A directory for PYTHONPATH with the package as it is."""
    source = Path(ragledger.__file__).parent
    shutil.copytree(source, directory / "ragledger", ignore=shutil.ignore_patterns("__pycache__", "demo"))
    return directory


MUTANTS = [
    Mutant(
        "header written before the body",
        "journal/frames.py",
        """    target[start : start + length] = body
    checksum = crc32(body, crc32(_NUMBER.pack(number)))  # `_checksum`, without a call
    FRAME.pack_into(target, offset, 0, length, checksum, 0, number)
    target[offset : offset + 4] = _MAGIC_BYTES
""",
        """    checksum = crc32(body, crc32(_NUMBER.pack(number)))  # `_checksum`, without a call
    FRAME.pack_into(target, offset, 0, length, checksum, 0, number)
    target[offset : offset + 4] = _MAGIC_BYTES
    target[start : start + length] = body
""",
        ("header", "inside"),
    ),
    Mutant(
        "published before it is written",
        "journal/writer.py",
        """            frames.write_frame(segment.view, offset, number, body)
            if not self._always:
                counters[PUBLISHED] = number
""",
        """            counters[PUBLISHED] = number
            frames.write_frame(segment.view, offset, number, body)
            if not self._always:
""",
        ("header", "before"),
    ),
    Mutant(
        "no watermark in the shipping transaction",
        "sql/ship.sql",
        "SET shipped = %(last)s,\n    landed",
        "SET landed",
        ("commit", "after"),
    ),
    Mutant(
        "segments unlinked before the commit",
        "shipper.py",
        "            store.land(backlog.state, self._entries(batch), backlog.shipped, rejections.keep)\n",
        "            shipped, entries = backlog.shipped, self._entries(batch)\n"
        "            backlog.commit(batch)\n"
        "            store.land(backlog.state, entries, shipped, rejections.keep)\n",
        ("commit", "before"),
    ),
    Mutant(
        "no lock on adoption",
        "journal/state.py",
        """            if lock:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
""",
        """            if lock:
""",
        ("a live writer beside a shipper",),
    ),
]
