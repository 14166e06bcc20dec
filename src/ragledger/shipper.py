"""Takes journals to the table: this process's own, those of writers that died, and in a sidecar those of everybody.

A paced daemon thread. The application never waits for it, except at exit, for a bounded time.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import RagledgerError
from .journal import directory as files
from .journal.backlog import Backlog, Batch
from .journal.salvage import mend
from .journal.state import WriterState
from .late_imports import late_imports
from .spans import quietly

if TYPE_CHECKING:
    from .journal.journal import Journal
    from .postgres.connection import Connection
    from .postgres.rows import Entry
    from .postgres.store import Store

__all__ = ["Shipper", "ShipperThread"]

_logger = logging.getLogger(__name__)

_BATCH = 1000
_POLL_S = 0.2
_ADOPT_EVERY_S = 2.0
_FIRST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 30.0


class Shipper:
    """One pass after another over the journals of a directory, on one connection.

    `stopping`, set from outside, ends a pass after its current batch.
    """

    def __init__(
        self,
        directory: Path,
        connect: Callable[[], Connection],
        *,
        vote_deadline_h: float = 24.0,
        live_writers: bool = False,
    ) -> None:
        self.directory = directory
        self.landed = 0
        self.rejected = 0
        self.stopping = False
        self._connect = connect
        self._deadline_h = vote_deadline_h
        self._live_writers = live_writers
        self._connection: Connection | None = None
        self._store: Store | None = None
        self._live: dict[Path, Backlog] = {}
        self._reported: dict[Path, dict[str, int]] = {}
        self._unreadable: set[Path] = set()
        self._next_adoption = 0.0

    def ship(self, own: Path | None = None) -> int:
        """One pass: everything that is complete now. The number of records that landed.

        Args:
            own: the lock file of this process's writer, shipped every time; others are looked for less often.

        Raises:
            DatabaseUnavailable, SchemaError: the pass ended early; nothing is lost or doubled.
        """
        store = self._open()
        from .postgres.connection import translated  # there already: `_open` imports under the lock

        landed = 0
        with translated():
            if own is not None:
                landed += self._ship_live(store, own)
            if time.monotonic() >= self._next_adoption:
                landed += self._ship_others(store, own)
                self._report(store)
                store.promote_pending()
                self._next_adoption = time.monotonic() + _ADOPT_EVERY_S
        return landed

    def rush(self) -> None:
        """Lets the next pass look for other writers at once."""
        self._next_adoption = 0.0

    def close(self) -> None:
        """Closes the connection. The journal keeps what is left."""
        for path in list(self._live):
            self._forget(path)
        if self._connection is not None:
            self._connection.close()
        self._connection = self._store = None

    def _open(self) -> Store:
        with late_imports:
            from . import schema  # noqa: F401  what `connect` will need
            from .postgres.connection import translated
            from .postgres.store import Store

        if self._store is None or self._connection is None or self._connection.closed:
            self.close()  # what was known of the table may not be true any more
            with translated():
                self._connection = self._connect()
            self._store = Store(self._connection, vote_deadline_h=self._deadline_h)
        return self._store

    def _ship_live(self, store: Store, path: Path) -> int:
        """A writer that lives, here or in another process; its state is mapped a second time and only looked at."""
        backlog = self._live.get(path)
        if backlog is None:
            state = WriterState.peek(path)
            if state is None:
                return 0
            backlog = self._live[path] = self._backlog(store, state, live=True)
        return self._empty(store, backlog)

    def _ship_others(self, store: Store, own: Path | None) -> int:
        landed = 0
        files.sweep(self.directory)
        self._mend()
        paths = files.locks(self.directory)
        for path in self._live.keys() - {own, *paths}:
            self._forget(path)
        for path in paths:
            if path == own or self.stopping:
                continue
            try:
                landed += self._ship_other(store, path)
            except OSError as exc:
                self._complain(path, type(exc).__name__)
        return landed

    def _mend(self) -> None:
        mended, left = mend(self.directory)
        for stray in mended:
            _logger.warning(
                "ragledger: writer %s: %s; it was made anew, and what can be read goes to the table",
                stray.writer,
                stray.why,
            )
        for stray in left:
            self._complain(files.lock_path(self.directory, stray.writer), stray.why)

    def _ship_other(self, store: Store, path: Path) -> int:
        state = WriterState.adopt(path)
        if state is not None:
            self._forget(path)
            return self._adopt(store, state)
        return self._ship_live(store, path) if self._live_writers else 0

    def _adopt(self, store: Store, state: WriterState) -> int:
        """A dead writer, whole and in order, then its files are removed."""
        backlog = self._backlog(store, state, live=False)
        try:
            landed = self._empty(store, backlog)
            if not self.stopping:
                store.finish(state)
                backlog.remove()
        finally:
            backlog.close()
        return landed

    def _backlog(self, store: Store, state: WriterState, *, live: bool) -> Backlog:
        try:
            return Backlog(self.directory, state, shipped=store.register(state), live=live)
        except BaseException:
            state.close()  # a lock that stayed behind would keep a dead writer from every other shipper
            raise

    def _forget(self, path: Path) -> None:
        backlog = self._live.pop(path, None)
        self._reported.pop(path, None)
        if backlog is not None:
            backlog.close()

    def _report(self, store: Store) -> None:
        """Refusals of live writers: where nothing is written, no batch carries them to the table."""
        for path, backlog in self._live.items():
            refused = backlog.state.refused
            if refused != self._reported.get(path, {}):
                store.report(backlog.state)
                self._reported[path] = refused

    def _complain(self, path: Path, why: str) -> None:
        """One journal that cannot be read does not stop the others."""
        if path not in self._unreadable:
            self._unreadable.add(path)
            _logger.error(
                "ragledger: the journal of writer %s cannot be read (%s); its records wait there",
                path.stem,
                why,
            )

    def _empty(self, store: Store, backlog: Backlog) -> int:
        from .postgres.store import WatermarkMoved

        landed = 0
        while not self.stopping and (batch := backlog.next_batch(_BATCH)) is not None:
            rejections = _Rejections(self.directory / f"{backlog.writer}.rejected", batch)
            try:
                store.land(backlog.state, _entries(batch), backlog.shipped, rejections.keep)
            except WatermarkMoved:
                backlog.rewind(store.register(backlog.state))
                continue
            backlog.commit(batch)
            rejections.tell()
            self.rejected += len(rejections)
            landed += batch.last - batch.first + 1 - len(rejections)
        self.landed += landed
        return landed


class _Rejections:
    """The payload of a rejected record stays here, for a person; the table gets number and reason."""

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
            json.dumps(
                {
                    "number": entry.number,
                    "reason": entry.rejection,
                    "body": base64.b64encode(self._bodies.get(entry.number, b"")).decode(),
                }
            )
            + "\n"
            for entry in entries
        ]
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(fd, "w", encoding="ascii") as file:
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


def _entries(batch: Batch) -> list[Entry]:
    from .postgres.rows import Entry, decode

    entries = [decode(frame.number, frame.body) for frame in batch.frames]
    entries += [Entry(number, None, "damaged") for number in batch.damaged]
    return sorted(entries, key=lambda entry: entry.number)


class ShipperThread:
    """Runs a shipper beside the application; without one (sidecar mode) it only keeps segments prepared."""

    def __init__(self, journal: Journal, make_shipper: Callable[[], Shipper] | None) -> None:
        self._journal = journal
        self._make_shipper = make_shipper
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._urgent = threading.Event()
        self._failures = 0
        self._next_attempt = 0.0
        self.shipper: Shipper | None = None
        self.last_error: str | None = None

    @property
    def ships(self) -> bool:
        """False in sidecar mode."""
        return self._make_shipper is not None

    def start(self) -> None:
        """Starts the thread when it is not running, and not after `stop`.

        At interpreter shutdown there is none; the journal keeps everything.
        """
        if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
            return
        thread = threading.Thread(target=self._run, name="ragledger-shipper", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return
        self._thread = thread

    def drain(self, timeout_s: float) -> bool:
        """Waits until this process's records are in the table; False when the time is up first."""
        deadline = time.monotonic() + timeout_s
        self._next_attempt = 0.0  # one try at once, whatever the back-off says
        while not self._is_drained():
            if time.monotonic() >= deadline or self._thread is None or not self._thread.is_alive():
                return False
            self._urgent.set()
            time.sleep(0.005)
        return True

    def stop(self, timeout_s: float) -> None:
        """Ends the thread, when the time is up after its current batch."""
        self._stop.set()
        self._urgent.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
        if self.shipper is not None:
            self.shipper.stopping = True

    def _is_drained(self) -> bool:
        writer = self._journal.writer
        return writer is None or writer.state.shipped >= writer.state.published

    def _run(self) -> None:
        with quietly():
            while not self._stop.is_set():
                self._urgent.clear()
                # Also while the table is away: no search should have to make a segment by itself.
                self._journal.tend()
                if self.ships and time.monotonic() >= self._next_attempt:
                    self._next_attempt = time.monotonic() + self._attempt()
                self._urgent.wait(_POLL_S)
            if self.shipper is not None:
                if not self._failures:
                    self.shipper.rush()  # takes this process's own closed journal away, files and all
                    self._attempt()
                self.shipper.close()

    def _attempt(self) -> float:
        """One pass; how long to leave the database alone after it."""
        try:
            if self.shipper is None and self._make_shipper is not None:
                self.shipper = self._make_shipper()
            writer = self._journal.writer
            if self.shipper is not None:
                self.shipper.ship(writer.state.path if writer is not None else None)
        except Exception as exc:  # noqa: BLE001  whatever it was, the journal keeps the records and we try again
            return self._back_off(exc)
        if self._failures:
            _logger.warning("ragledger: the table takes records again")
        self._failures, self.last_error = 0, None
        return 0.0

    def _back_off(self, exc: Exception) -> float:
        if self.shipper is not None:
            self.shipper.close()
        self._failures += 1
        self.last_error = str(exc) if isinstance(exc, RagledgerError) else type(exc).__name__
        if self._failures == 1:
            _logger.warning(
                "ragledger: the table takes no records now (%s); they wait in the journal, see `ragledger doctor`",
                self.last_error,
            )
        longest = min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2 ** min(self._failures - 1, 10))
        return float(longest * random.uniform(0.5, 1.0))

    def facts(self) -> dict[str, Any]:
        """Counters for a person."""
        shipper = self.shipper
        return {
            "running": self._thread is not None and self._thread.is_alive(),
            "landed": shipper.landed if shipper is not None else 0,
            "rejected": shipper.rejected if shipper is not None else 0,
            "last_error": self.last_error,
        }
