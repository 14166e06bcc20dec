"""Takes journals to the table: this process's own, those of writers that died, and in a sidecar those of everybody.

Run by a thread beside the application (`shipper_thread.py`), or by `ragledger ship`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .faults import error_type
from .forks import unforked
from .journal import directory as files
from .journal.backlog import Backlog, Batch
from .journal.salvage import mend
from .journal.state import WriterState
from .memory_writer import MemoryWriter
from .rejections import Rejections

if TYPE_CHECKING:
    from .postgres.connection import Connection
    from .postgres.rows import Entry
    from .postgres.store import Store

__all__ = ["Shipper"]

_logger = logging.getLogger(__name__)

_BATCH = 1000
_GENTLE_BATCH = 500
_PAUSE_S = 0.0001
_ADOPT_EVERY_S = 2.0


class Shipper:
    """One pass after another over the journals of a directory, on one connection.

    `stopping`, set from outside, ends a pass after its current batch. `gentle` is for a shipper beside an application:
    it lets go of the interpreter lock every 1 to 2 ms, so that a search that wakes up goes on at once. `in_turn` is for one
    with a process of its own on the application's host: it rests while the server works. `on_batch` hears how
    many seconds the table took for each batch, and the class of the exception if it did not take it; `on_no_texts` that
    the table has no place for texts.
    """

    def __init__(  # noqa: PLR0913  what differs between an application's and a sidecar's
        self,
        directory: Path,
        connect: Callable[[], Connection],
        *,
        vote_deadline_h: float = 24.0,
        live_writers: bool = False,
        gentle: bool = False,
        in_turn: bool = False,
        on_batch: Callable[[float, str | None], None] = lambda seconds, failure: None,
        on_no_texts: Callable[[], None] = lambda: None,
    ) -> None:
        self.directory = directory
        self.landed = 0
        self.rejected = 0
        self.stopping = False
        self.gentle = gentle
        self._in_turn = in_turn
        self._connect = connect
        self._on_batch = on_batch
        self._on_no_texts = on_no_texts
        self._deadline_h = vote_deadline_h
        self._live_writers = live_writers
        self._connection: Connection | None = None
        self._store: Store | None = None
        self._live: dict[Path, Backlog] = {}
        self._reported: dict[Path, dict[str, int]] = {}
        self._unreadable: set[Path] = set()
        self._told: set[str] = set()
        self._next_adoption = 0.0

    def ship(self, own: Path | None = None) -> int:
        """One pass: everything that is complete now. The number of records that landed.

        Args:
            own: the lock file of this process's writer, shipped every time; others are looked for less often.

        Raises:
            DatabaseUnavailable, SchemaError: the pass ended early; nothing is lost or doubled.
        """
        store = self._open()
        from .postgres.connection import translated  # there already: `_open` has it

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

    def tell(self, writer: MemoryWriter, *, last: bool = False) -> None:
        """Puts the counters of a writer that has no journal into `writers`; `last`: nothing of it will come any more.

        Raises:
            DatabaseUnavailable, SchemaError
        """
        store = self._open()
        from .postgres.connection import translated

        with translated():
            store.register(writer)
            if last:
                store.finish(writer)
            else:
                store.report(writer)

    def rush(self) -> None:
        """Lets the next pass look for other writers at once."""
        self._next_adoption = 0.0

    def stop(self) -> None:
        """Ends the pass after its current batch; may be called by a signal handler."""
        self.stopping = True

    def close(self) -> None:
        """Closes the connection. The journal keeps what is left."""
        for path in list(self._live):
            self._forget(path)
        if self._connection is not None:
            self._connection.close()
        self._connection = self._store = None

    def _open(self) -> Store:
        with unforked:
            from . import schema  # noqa: F401  what `connect` will need
            from .postgres import rows  # noqa: F401  what a pass will need
            from .postgres.connection import translated
            from .postgres.store import Store

        if self._store is None or self._connection is None or self._connection.closed:
            self.close()  # what was known of the table may not be true any more
            with translated():
                self._connection = self._connect()
            self._store = Store(
                self._connection,
                vote_deadline_h=self._deadline_h,
                pause=self._pause,
                in_turn=self._in_turn,
            )
        return self._store

    @property
    def _limit(self) -> int:
        return _GENTLE_BATCH if self.gentle else _BATCH

    def _pause(self) -> None:
        if self.gentle and not self.stopping:
            # Not 0: this thread would have the lock back before another one has woken up.
            time.sleep(_PAUSE_S)

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
        while not self.stopping and (batch := backlog.next_batch(self._limit)) is not None:
            rejections = Rejections(self.directory / f"{backlog.writer}.rejected", batch)
            try:
                self._land(store, backlog, batch, rejections)
            except WatermarkMoved:
                backlog.rewind(store.register(backlog.state))
                continue
            # Counted before the journal says so: who waits for that may ask for the counters next.
            self.rejected += len(rejections)
            self.landed += (came := batch.last - batch.first + 1 - len(rejections))
            landed += came
            backlog.commit(batch)
            rejections.tell(self._told)
            if rejections.lack_a_table:
                self._on_no_texts()
        return landed

    def _land(self, store: Store, backlog: Backlog, batch: Batch, rejections: Rejections) -> None:
        start = time.perf_counter()
        failure: str | None = None
        try:
            store.land(backlog.state, self._entries(batch), backlog.shipped, rejections.keep)
        except Exception as exc:
            failure = error_type(exc)
            raise
        finally:
            self._on_batch(time.perf_counter() - start, failure)

    def _entries(self, batch: Batch) -> list[Entry]:
        from .postgres.rows import Entry, decode
        from .postgres.store import STRETCH

        entries = []
        for start in range(0, len(batch.frames), STRETCH):
            entries += [decode(frame.number, frame.body) for frame in batch.frames[start : start + STRETCH]]
            self._pause()
        if batch.damaged:
            entries += [Entry(number, None, "damaged") for number in batch.damaged]
            entries.sort(key=lambda entry: entry.number)
        return entries
