"""The sink of a process: makes its writer when needed, anew after a fork, and counts what it cannot keep."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ragledger.ids import new_id
from ragledger.model import Record, TextsRecord, encode_record

from . import directory as files
from .state import Identity
from .syncing import start_syncing
from .writer import JournalWriter

__all__ = ["Journal"]

_logger = logging.getLogger(__name__)
_RETRY_S = 5.0


class Journal:
    """Implements `ports.Sink` on a directory. `refused` counts what found no journal to be counted in.

    `on_open` is called when a writer has been made: at the start, and again in a forked child; `on_failure` when none
    could be made.
    """

    def __init__(
        self,
        directory: Path,
        *,
        project: str,
        cap_bytes: int,
        fsync: Literal["none", "batch", "always"] = "none",
    ) -> None:
        self.directory = directory
        self.refused: dict[str, int] = {}
        self.on_open: Callable[[], None] = lambda: None
        self.on_failure: Callable[[], None] = lambda: None
        self._identity = Identity.here(project)
        self._cap_bytes = cap_bytes
        self._fsync = fsync
        self._writer: JournalWriter | None = None
        self._opening = threading.RLock()
        self._retry_at: float | None = None
        self._handed_over: dict[str, int] = {}
        _journals.add(self)

    def put(self, record: Record) -> str | None:
        """Appends the record; None when it survives the process from here on."""
        body = encode_record(record)
        refusal: str | None = "closed"
        while refusal == "closed":  # by another thread, since we looked: the next one is ours
            writer = self._writer or self._open_writer()
            if writer is None:
                return self._refuse("no_journal")
            if writer.crowded and isinstance(record, TextsRecord):
                return writer.state.refuse("texts_cap")
            refusal = writer.append(body)
        return refusal

    @property
    def writer(self) -> JournalWriter | None:
        """The writer of this process, when it has written or prepared anything."""
        return self._writer

    def prepare(self) -> None:
        """Makes the writer and its next segment ahead of need."""
        writer = self._writer or self._open_writer()
        if writer is not None:
            writer.prepare()

    def tend(self) -> None:
        """What the background does for a writer: its next segment, and a look whether its files are still there."""
        writer = self._writer
        if writer is None:
            return
        if writer.is_there():
            writer.prepare()
        else:
            self._replace(writer)

    def release(self) -> JournalWriter | None:
        """Closes the writer, so that what it holds can be adopted; a later `put` starts another one."""
        with self._opening:
            writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        return writer

    def _open_writer(self) -> JournalWriter | None:
        if self._opening._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001  a signal handler, see writer.py
            return None
        with self._opening:
            failed_before = self._retry_at is not None
            if self._writer is not None or (self._retry_at or 0.0) > time.monotonic():
                return self._writer
            try:
                files.open_directory(self.directory)
                writer = JournalWriter(
                    self.directory, new_id(), self._identity, self._cap_bytes, fsync=self._fsync
                )
            except OSError as exc:
                self._retry_at = time.monotonic() + _RETRY_S
                self.on_failure()
                if not failed_before:
                    _logger.error(  # noqa: TRY400  the traceback would name files of the host
                        "ragledger: no journal (%s); searches are refused and counted, not recorded. "
                        "See `ragledger doctor`",
                        exc.strerror or exc,  # the system's words or ours, without the path
                    )
                return None
            if failed_before:
                _logger.warning("ragledger: there is a journal again")
            self._retry_at = None
            refused, self.refused = self.refused, {}
            for reason, times in refused.items():
                writer.state.refuse(reason, times)  # from here on they survive the process
            self._writer = writer
            if self._fsync == "batch":
                start_syncing(writer)
            self.on_open()
            return self._writer

    @property
    def identity(self) -> Identity:
        """Who its writers are."""
        return self._identity

    def hand_over_refused(self) -> dict[str, int]:
        """What was ever refused without a journal: the caller has it told, nobody else counts it any more."""
        with self._opening:
            self._handed_over = _sum(self._handed_over, self.refused)
            self.refused = {}
            return dict(self._handed_over)

    def all_refused(self) -> dict[str, int]:
        """Every refusal of this process, wherever it is counted now."""
        with self._opening:
            writer = self._writer
            return _sum(self.refused, self._handed_over, writer.state.refused if writer is not None else {})

    def _replace(self, writer: JournalWriter) -> None:
        """Somebody deleted, moved or overwrote the journal while it is in use: what comes now goes to a new writer."""
        with self._opening:
            if self._writer is not writer:
                return
            self._writer = None
        lost = writer.leave()
        _logger.error(
            "ragledger: the files of the journal were deleted, moved or damaged while in use; %d record(s) that had "
            "a receipt are lost, those that come now go to a new writer",
            lost,
        )
        if lost:
            self._refuse("lost", lost)
        self._retry_at = None
        self._open_writer()

    def _refuse(self, reason: str, times: int = 1) -> str:
        with self._opening:  # not while a new writer takes them over
            self.refused[reason] = self.refused.get(reason, 0) + times
        return reason

    def _forget(self) -> None:
        writer, self._writer = self._writer, None
        self._opening = threading.RLock()
        self.refused = {}
        self._handed_over = {}
        self._retry_at = None
        if writer is not None:
            writer.abandon()


def _sum(*counts: dict[str, int]) -> dict[str, int]:
    reasons = {reason for each in counts for reason in each}
    return {reason: sum(each.get(reason, 0) for each in counts) for reason in sorted(reasons)}


_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


def _after_fork() -> None:
    for journal in list(_journals):
        journal._forget()  # noqa: SLF001  the module's own class


os.register_at_fork(after_in_child=_after_fork)
