"""Rejected records: the payload stays in a private file beside the journal, for a person.

The table gets number and reason, the log the reasons.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .journal.backlog import Batch
    from .postgres.rows import Entry

__all__ = ["Rejections"]

_logger = logging.getLogger(__name__)


class Rejections:
    """Of one batch: what the database refused of it, and the file it goes to."""

    def __init__(self, path: Path, batch: Batch) -> None:
        self._path = path
        self._bodies = {frame.number: frame.body for frame in batch.frames}
        self._reasons: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._reasons)

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
        ]
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(fd, "wb") as file:
                file.writelines(lines)
        except OSError as exc:
            # A full disk must not stop what makes room on it.
            _logger.error("ragledger: rejected records could not be kept (%s)", type(exc).__name__)  # noqa: TRY400

    def tell(self) -> None:
        """One line in the log, without a value of a record."""
        if self._reasons:
            _logger.warning(
                "ragledger: %d record(s) rejected (%s); kept in the journal directory, see `ragledger doctor`",
                len(self._reasons),
                ", ".join(sorted(set(self._reasons.values()))),
            )
