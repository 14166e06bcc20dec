"""`write="direct"`: the table itself takes each record while the caller waits, for at most 250 ms.

For places without a disk. The price is in docs/operations.md: every search waits for the database, and during an
outage it is refused. Nothing is lost silently: refusals are counted here and in `writers`, and where the answer to a
commit did not come in time the receipt says `unknown`.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .errors import RagledgerError
from .forks import unforked
from .journal.state import Identity
from .memory_writer import MemoryWriter
from .model import encode_record
from .ports import FATE_UNKNOWN, Interrupted
from .spans import quietly

if TYPE_CHECKING:
    from .model import Record
    from .postgres.connection import Connection
    from .postgres.rows import Entry
    from .postgres.store import Store

__all__ = ["Direct"]

_logger = logging.getLogger(__name__)
_BOUND_S = 0.25
_BATCH = 100
_TEND_S = 2.0
_LONGEST_BACKOFF_S = 5.0


class _Job:
    """A record on its way. Whoever takes it first decides: the worker begins it, or the caller withdraws it."""

    __slots__ = ("_running", "body", "done", "refusal", "taken")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.done = False
        self.taken = threading.Lock()
        self.refusal: str | None = FATE_UNKNOWN
        # Not an Event: who waits for one holds its lock for moments, and a signal handler that searches in such a
        # moment would keep the worker from everybody, its own record included.
        self._running = threading.Lock()
        self._running.acquire()

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended in that time."""
        if self._running.acquire(timeout=timeout_s):
            self._running.release()
        return self.done

    def end(self, refusal: str | None) -> None:
        """Once, by the worker."""
        self.refusal = refusal
        self.done = True
        self._running.release()


class Direct:
    """Implements `ports.Backend` without a journal. One worker thread owns the connection, which bounds the wait.

    A batch whose commit was not answered is sent again with the same numbers once there is a connection: the
    writer's watermark says whether it had landed.
    """

    kept_as: Literal["journalled", "written"] = "written"

    def __init__(self, connect: Callable[[], Connection], *, project: str, vote_deadline_h: float) -> None:
        self._identity = Identity.here(project)
        self._connect = connect
        self._deadline_h = vote_deadline_h
        self._closed = False
        self.after_fork()
        self._start()

    def after_fork(self) -> None:
        """A child is another writer; the parent's thread and connection do not exist in it."""
        self.writer = MemoryWriter(identity=self._identity)
        self.last_error: str | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()  # `put` is safe in a signal handler
        self._uncertain: list[_Job] = []
        self._doubted: list[_Job] = []
        self._rejected: set[int] = set()
        self._rejected_count = 0
        self._lock = threading.RLock()  # re-entrant for the same reason
        self._thread: threading.Thread | None = None
        self._starting = False
        self._store: Store | None = None
        self._connection: Connection | None = None
        self._reported: dict[str, int] = {}
        self._tend_at = 0.0
        self._failures = 0

    def put(self, record: Record) -> str | None:
        """Waits for the table to take the record, at most 250 ms.

        Raises:
            Interrupted: a signal handler raised meanwhile; what it raised belongs to the caller.
        """
        if self._closed or not self._start():
            return self._refuse("closed")
        if self._failures:
            return self._refuse("no_database")  # the worker tries by itself; nobody has to wait for that
        try:
            job = _Job(encode_record(record))
        except Exception:
            self._refuse("unencodable")
            raise
        self._jobs.put(job)
        try:
            job.wait(_BOUND_S)
        except BaseException as exc:  # noqa: BLE001  passed on
            self._leave(job)
            raise Interrupted(exc) from None
        return job.refusal if job.done else self._leave(job)

    def _leave(self, job: _Job) -> str | None:
        """The caller goes. What nobody has begun is withdrawn; of the rest the fate is not known yet."""
        if job.taken.acquire(blocking=False):
            return self._refuse("timeout")
        if not job.done:
            self._doubted.append(job)
        return job.refusal

    def drain(self, timeout_s: float) -> bool:
        """Waits for what callers left in doubt."""
        deadline = time.monotonic() + timeout_s
        while doubted := [job for job in self._doubted if not job.done]:
            if not doubted[0].wait(max(0.0, deadline - time.monotonic())):
                return False
        return True

    def close(self, timeout_s: float) -> None:
        """Ends the worker. A search after this is refused."""
        self._closed = True
        self._jobs.put(None)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(timeout_s, _BOUND_S))

    def facts(self) -> dict[str, Any]:
        """Counters for a person."""
        writer, thread = self.writer, self._thread
        return {
            "journal": None,
            "attempted": writer.attempted,
            "published": writer.shipped,
            "shipped": writer.shipped,
            "in_doubt": len(self._doubted),
            "refused": dict(writer.refused),
            "shipper": {
                "running": thread is not None and thread.is_alive(),
                "landed": writer.shipped - self._rejected_count,
                "rejected": self._rejected_count,
                "last_error": self.last_error,
            },
        }

    def _refuse(self, reason: str) -> str:
        with self._lock:
            self.writer.refused[reason] = self.writer.refused.get(reason, 0) + 1
        return reason

    def _start(self) -> bool:
        """Whether the worker runs; False while the interpreter goes down."""
        if self._thread is not None and self._thread.is_alive():
            return True
        with self._lock:
            if self._starting:  # a signal handler, in the middle of this
                return True
            if self._thread is None or not self._thread.is_alive():
                self._starting = True
                try:
                    self._thread = threading.Thread(target=self._run, name="ragledger-direct", daemon=True)
                    self._thread.start()
                except RuntimeError:
                    return False
                finally:
                    self._starting = False
        return True

    # --- in the worker -------------------------------------------------------------------------------------

    def _run(self) -> None:
        with quietly():
            wait_s = 0.0
            while not self._closed:
                wait_s = self._pass(wait_s)
            self._pass(0.0)
            self._finish()

    def _pass(self, wait_s: float) -> float:
        """Lands what was in doubt, then what is queued; how long to wait for more.

        Nothing is taken before there is a connection: until then a caller may withdraw it.
        """
        if self._failures:
            self._refuse_queued("no_database", wait_s)
            wait_s = 0.0
        try:
            store = self._open()
            if self._uncertain:
                self._land(store, self._uncertain)
            if jobs := self._take(wait_s):
                self._land(store, jobs)
            if time.monotonic() >= self._tend_at:
                self._tend_at = time.monotonic() + _TEND_S
                store.promote_pending()
                self._report(store)
        except Exception as exc:  # noqa: BLE001  whatever it was, those who wait are told, and we try again
            return self._back_off(exc)
        return max(0.0, self._tend_at - time.monotonic())

    def _take(self, wait_s: float) -> list[_Job]:
        """What is queued by now, after waiting for a first one; withdrawn ones are left out."""
        jobs: list[_Job] = []
        try:
            job = self._jobs.get(timeout=wait_s)
            while job is not None:
                if job.taken.acquire(blocking=False):
                    jobs.append(job)
                if len(jobs) == _BATCH:
                    break
                job = self._jobs.get_nowait()
        except queue.Empty:
            pass
        return jobs

    def _refuse_queued(self, reason: str, wait_s: float = 0.0) -> None:
        for job in self._take(wait_s):
            job.end(self._refuse(reason))

    def _open(self) -> Store:
        with unforked:
            from . import schema  # noqa: F401  what `connect` will need
            from .postgres import rows  # noqa: F401  what `_land` will need
            from .postgres.store import Store

        if self._store is None or self._connection is None or self._connection.closed:
            self._connection = self._connect()
            self._store = Store(self._connection, vote_deadline_h=self._deadline_h)
            self._resume(self._store)
            if self._failures:
                _logger.warning("ragledger: the table takes records again")
            self._failures, self.last_error = 0, None
        return self._store

    def _resume(self, store: Store) -> None:
        watermark = store.register(self.writer)
        if watermark < self.writer.shipped:
            # A standby that lagged, or a backup: its numbers are used up here, and another writer begins at 1.
            _logger.warning(
                "ragledger: the table has lost records that it had taken; going on as a new writer"
            )
            with self._lock:
                unreported = {
                    reason: number - self._reported.get(reason, 0)
                    for reason, number in self.writer.refused.items()
                }
                self.writer = MemoryWriter(identity=self._identity, refused=unreported)
                self._reported = {}
            watermark = store.register(self.writer)
        self._settle(watermark)
        self._rejected.clear()  # noted in a transaction that was never in

    def _land(self, store: Store, jobs: list[_Job]) -> None:
        """In one transaction, or in parts where the database refuses one of them."""
        from .postgres.rows import decode

        self._uncertain = jobs
        writer = self.writer
        first = writer.shipped + 1
        entries = [decode(first + index, job.body) for index, job in enumerate(jobs)]
        writer.attempted = max(writer.attempted, entries[-1].number)
        store.land(writer, entries, writer.shipped, self._note_rejected)
        self._settle(entries[-1].number)

    def _note_rejected(self, entries: list[Entry]) -> None:
        self._rejected.update(entry.number for entry in entries)

    def _settle(self, watermark: int) -> None:
        """What was in doubt has landed up to the watermark; what follows has not."""
        writer = self.writer
        count = max(0, watermark - writer.shipped)
        landed, self._uncertain = self._uncertain[:count], self._uncertain[count:]
        for number, job in enumerate(landed, start=writer.shipped + 1):
            rejected = number in self._rejected
            self._rejected.discard(number)
            self._rejected_count += rejected
            job.end("rejected" if rejected else None)
        writer.shipped += count
        self._doubted = [job for job in self._doubted if not job.done]

    def _back_off(self, exc: Exception) -> float:
        self._failures += 1
        self.last_error = str(exc) if isinstance(exc, RagledgerError) else type(exc).__name__
        self._refuse_queued("no_database")
        if self._failures == 1:
            _logger.warning(
                "ragledger: the table takes no records now (%s); searches are refused and counted until it does",
                self.last_error,
            )
        self._disconnect()
        longest = min(_LONGEST_BACKOFF_S, _BOUND_S * 2 ** min(self._failures, 10))
        return float(longest * random.uniform(0.5, 1.0))

    def _report(self, store: Store) -> None:
        with self._lock:
            refused = dict(self.writer.refused)
        if refused != self._reported:
            store.report(self.writer)
            self._reported = refused

    def _finish(self) -> None:
        self._refuse_queued("closed")
        if self._uncertain:
            _logger.warning(
                "ragledger: closed with %d record(s) of which nobody knows whether the table has them",
                len(self._uncertain),
            )
        try:
            if self._store is not None:
                self._store.finish(self.writer)
        except Exception as exc:  # noqa: BLE001  the connection is gone; the counters in `writers` stay as they were
            self.last_error = type(exc).__name__
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection, self._store = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(Exception):  # gone already
                connection.close()
