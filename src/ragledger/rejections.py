"""Rejected records: the payload stays in a private file beside the journal, for a person.

The table gets number and reason, the log the reasons. Records of texts leave nothing but those: they are kept in their
table or not at all.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .model import Record, decode_record, holds_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from .journal.backlog import Batch
    from .postgres.rows import Entry

__all__ = ["Rejections", "forget"]

_logger = logging.getLogger(__name__)
_NO_TEXT = "no_text_"  # a setting that lasts, and a batch comes every 200 ms


class Rejections:
    """Of one batch: what the database refused of it, and the file it goes to."""

    def __init__(self, path: Path, batch: Batch) -> None:
        self._path = path
        self._bodies = {frame.number: frame.body for frame in batch.frames}
        self._reasons: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._reasons)

    @property
    def lack_a_table(self) -> bool:
        """Whether texts are among them that the table has no place for."""
        return any(reason.startswith(_NO_TEXT) for reason in self._reasons.values())

    def keep(self, entries: list[Entry]) -> None:
        """Called within the transaction that rejects them: once that is in, nobody reads them again."""
        self._reasons.update({entry.number: entry.rejection or "" for entry in entries})
        lines = [
            msgspec.json.encode(
                {
                    "number": entry.number,
                    "reason": entry.rejection,
                    "body": self._bodies.get(entry.number, b""),  # as base64
                }
            )
            + b"\n"
            for entry in entries
            if not holds_text(self._bodies.get(entry.number, b""))
        ]
        if not lines:
            return
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(fd, "wb") as file:
                file.writelines(lines)
        except OSError as exc:
            # A full disk must not stop what makes room on it.
            _logger.error("ragledger: rejected records could not be kept (%s)", type(exc).__name__)  # noqa: TRY400

    def tell(self, told: set[str]) -> None:
        """One line in the log, without a value of a record. Why no text is kept is said once, and noted in `told`."""
        reasons = set(self._reasons.values())
        if reasons - told:
            _logger.warning(
                "ragledger: %d record(s) rejected (%s); see `ragledger doctor`",
                len(self._reasons),
                ", ".join(sorted(reasons)),
            )
        told |= {reason for reason in reasons if reason.startswith(_NO_TEXT)}


def forget(directory: Path, concerns: Callable[[Record], bool]) -> int:
    """Blanks the records in the files of rejected ones that `concerns` names, and those that nobody can read.

    In place, because a shipper may append meanwhile. Number and reason stay. How many were blanked.
    """
    blanked = 0
    for path in sorted(directory.glob("*.rejected")):
        with open(path, "r+b", buffering=0) as file:
            at = 0
            for line in file.readlines():
                start, length = _body_of(line, concerns)
                if length:
                    file.seek(at + start)
                    file.write(b"A" * length)
                    blanked += 1
                at += len(line)
            os.fsync(file.fileno())
    return blanked


class _Kept(msgspec.Struct):
    body: bytes


def _body_of(line: bytes, concerns: Callable[[Record], bool]) -> tuple[int, int]:
    """Where the body is in the line and how long; no length where it may stay."""
    start = line.find(b'"', line.find(b'"body"') + len(b'"body"')) + 1
    length = line.rfind(b'"') - start
    if not line[start : start + length].strip(b"A="):
        return start, 0
    with contextlib.suppress(msgspec.MsgspecError, ValueError):
        if not concerns(decode_record(msgspec.json.decode(line, type=_Kept).body)):
            return start, 0
    return start, length
