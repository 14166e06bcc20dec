"""The shipper beside an application: a paced daemon thread.

The application never waits for it, except at exit, for a bounded time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .errors import RagledgerError
from .memory_writer import MemoryWriter
from .spans import quietly

if TYPE_CHECKING:
    from .journal.journal import Journal
    from .shipper import Shipper

__all__ = ["ShipperThread"]

_logger = logging.getLogger(__name__)

_POLL_S = 0.2
_FIRST_BACKOFF_S = 0.5
_LONGEST_BACKOFF_S = 30.0


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
        self._starting = threading.RLock()  # re-entrant: a signal handler may search
        self._unjournalled = MemoryWriter(identity=journal.identity)
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
        with self._starting:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            thread = threading.Thread(target=self._run, name="ragledger-shipper", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._thread = thread

    def drain(self, timeout_s: float) -> bool:
        """Waits until what this process has recorded by now is in the table; False when the time is up first.

        Not for what comes meanwhile: a busy application would never be done.
        """
        deadline = time.monotonic() + timeout_s
        writer = self._journal.writer
        if writer is None:
            return True
        recorded = writer.state.published
        self._next_attempt = 0.0  # one try at once, whatever the back-off says
        while self._journal.writer is writer and writer.state.shipped < recorded:
            if time.monotonic() >= deadline or self._thread is None or not self._thread.is_alive():
                return False
            self._urgent.set()
            time.sleep(0.005)
        return True

    def hurry(self) -> None:
        """From here on nobody searches any more who would have to be made way for."""
        if self.shipper is not None:
            self.shipper.gentle = False

    def stop(self, timeout_s: float) -> None:
        """Ends the thread, when the time is up after its current batch."""
        self._stop.set()
        self._urgent.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)
        if self.shipper is not None:
            self.shipper.stopping = True

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
                    self._attempt(last=True)
                self.shipper.close()

    def _attempt(self, *, last: bool = False) -> float:
        """One pass; how long to leave the database alone after it."""
        try:
            if self.shipper is None and self._make_shipper is not None:
                self.shipper = self._make_shipper()
            writer = self._journal.writer
            if self.shipper is not None:
                self.shipper.ship(writer.state.path if writer is not None else None)
                self._tell_refused(self.shipper, last=last)
        except Exception as exc:  # noqa: BLE001  whatever it was, the journal keeps the records and we try again
            return self._back_off(exc)
        if self._failures:
            _logger.warning("ragledger: the table takes records again")
        self._failures, self.last_error = 0, None
        return 0.0

    def _tell_refused(self, shipper: Shipper, *, last: bool) -> None:
        """Refusals that found no journal to be counted in: a writer of their own says so in the table.

        Handed over first, so that nobody else counts them, and told until the table has heard it.
        """
        refused = self._journal.hand_over_refused()
        if refused != self._unjournalled.refused or (last and refused):
            shipper.tell(replace(self._unjournalled, refused=refused), last=last)
            self._unjournalled.refused = refused

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
        return float(longest * (0.5 + os.urandom(1)[0] / 510))

    def facts(self) -> dict[str, Any]:
        """Counters for a person."""
        shipper = self.shipper
        return {
            "running": self._thread is not None and self._thread.is_alive(),
            "landed": shipper.landed if shipper is not None else 0,
            "rejected": shipper.rejected if shipper is not None else 0,
            "last_error": self.last_error,
        }
