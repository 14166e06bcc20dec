"""What a fork waits for, and what it does not: a child never finds a half-done thing of ours."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from held import held_elsewhere
from integration.shipping import SEARCH, World, run
from psycopg import waiting

from ragledger import forks
from ragledger.errors import DatabaseUnavailable
from ragledger.forks import unforked
from ragledger.ids import new_id
from ragledger.journal.state import Identity, WriterState, lock_is_free
from ragledger.postgres.connection import connect

pytestmark = [
    pytest.mark.processes,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

WATCHED = (
    SEARCH
    + """
import threading
from ragledger.forks import unforked

class Watching:
    def find_spec(self, name, path=None, target=None):
        if not unforked.held:
            outside.append((threading.current_thread().name, name))

outside = []
ledger = ragledger.open(dsn=sys.argv[1], **eval(sys.argv[2]))
sys.meta_path.insert(0, Watching())
with ledger.search(corpus="c", query="q", weights={"vector": 1.0}) as found:
    found.candidates(Candidate("a", score=0.5))
ledger.flush(60 if sys.argv[3] == "there" else 0.5)
try:
    ledger.vote("01890000-0000-7000-8000-000000000000", rank=1, outcome="relevant")
except ragledger.VoteRefused:
    pass
if found.receipt.search_id is not None:
    ledger.vote(found.receipt.search_id, rank=1, outcome="relevant", actor="human:ana")
ledger.flush(60 if sys.argv[3] == "there" else 0.5)
print(ledger.facts(), file=sys.stderr)
sys.meta_path.pop(0)
assert outside == [], outside
"""
)
"""Afterwards `outside` holds what was imported while a fork could have fallen between, by whom."""


@pytest.mark.pg
@pytest.mark.parametrize(
    "settings", [{}, {"journal_fsync": "batch"}, {"write": "direct"}, {"query_keys": True}], ids=str
)
def test_nothing_is_imported_where_a_fork_could_fall_between(world: World, settings: dict[str, Any]) -> None:
    """A child of such a moment would wait for ever at the same import: its shipper did, one time in twenty."""
    run(WATCHED, world.database.dsn, world.database.dsn, repr(settings), "there")


@pytest.mark.parametrize("write", ["journal", "direct"])
def test_nothing_is_imported_either_while_the_database_is_away(write: str) -> None:
    """At a name that has to be looked up: Python brings in its codec for names then."""
    dsn = "postgresql://nobody@localhost:1/nothing"
    run(WATCHED, dsn, dsn, repr({"write": write, "exit_drain_s": 0.1}), "away")


OF_AN_ADAPTER = forks.ForkLock()  # made here once, as by a module: a fork waits for each that there is
LOCKS = pytest.mark.parametrize("lock", [unforked, OF_AN_ADAPTER], ids=["unforked", "an adapter's"])


@LOCKS
def test_a_fork_waits_for_what_is_half_done(lock: forks.ForkLock) -> None:
    done: list[str] = []
    begun = threading.Event()

    def work() -> None:
        with lock:
            begun.set()
            time.sleep(0.2)  # long enough to be forked in
            done.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    assert in_child(lambda: done == ["done"] and _is_free(lock)) == 0
    thread.join()
    assert _is_free(lock)


@LOCKS
def test_a_fork_inside_of_such_a_moment_waits_for_nobody(lock: forks.ForkLock) -> None:
    with lock:
        assert in_child(lambda: lock.held) == 0
        assert lock.held
    assert _is_free(lock)


def test_a_fork_beside_one_who_holds_an_adapters_lock_and_wants_the_other_ends() -> None:
    begun = threading.Event()

    def work() -> None:
        with OF_AN_ADAPTER:
            begun.set()
            time.sleep(0.2)  # the fork has begun
            with unforked:
                pass

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    assert in_child(lambda: _is_free(unforked) and _is_free(OF_AN_ADAPTER)) == 0
    thread.join()
    assert OF_AN_ADAPTER._hung == -1
    assert unforked._hung == -1, "they waited for each other"


@LOCKS
@pytest.mark.timeout(60)
def test_what_hangs_keeps_nobody_from_forking(lock: forks.ForkLock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_LONGEST_S", 0.05)
    with held_elsewhere(lock):
        # By its main thread: another one may get the identity of the one that is not there, and with it the lock.
        assert in_child(lambda: lock.take(0)) == 0, "held by a thread that is not there"
        assert not _is_free(lock), "the parent's own was let go of"
        monkeypatch.setattr(forks, "_LONGEST_S", 3600)
        assert in_child(lambda: lock.take(0)) == 0, (
            "one that was waited for in vain, and is not waited for again"
        )
    assert _is_free(lock)


@pytest.mark.timeout(60)
def test_the_next_one_who_holds_it_is_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "_LONGEST_S", 0.05)
    with held_elsewhere(unforked):
        assert in_child(lambda: True) == 0
    monkeypatch.setattr(forks, "_LONGEST_S", 30)
    test_a_fork_waits_for_what_is_half_done(unforked)


@pytest.mark.parametrize("how", ["made", "adopted"])
def test_a_child_keeps_no_lock_file_that_was_just_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It would keep the writer alive, and its records from the table, for as long as the child lives."""
    path = tmp_path / f"{new_id().hex}.lock"
    locked = threading.Event()

    def hold_on(*_: Any) -> bool:  # called between the lock and the list of what a child lets go of
        locked.set()
        time.sleep(0.2)
        return True

    def make(still: Callable[[], bool] = lambda: True) -> WriterState:
        return WriterState.create(path, new_id(), Identity("p", "h"), 1, still=still)

    if how == "made":
        thread = threading.Thread(target=lambda: states.append(make(hold_on)))
    else:
        make().close()
        monkeypatch.setattr("ragledger.journal.directory.leads_to", hold_on)
        thread = threading.Thread(target=lambda: states.append(WriterState.adopt(path)))
    states: list[WriterState | None] = []
    thread.start()
    locked.wait()
    with child_that_stays():
        thread.join()
        [state] = states
        assert state is not None
        assert not lock_is_free(path)
        state.close()
        assert lock_is_free(path)


@pytest.mark.timeout(60)
def test_p3_who_makes_a_writer_waits_for_no_background_work(tmp_path: Path) -> None:
    """The first search of a forked worker does."""
    path = tmp_path / f"{new_id().hex}.lock"
    with held_elsewhere(unforked):
        WriterState.create(path, new_id(), Identity("p", "h"), 1).close()


@pytest.mark.timeout(60)
def test_p3_nobody_forks_later_because_a_writer_is_being_made(tmp_path: Path) -> None:
    """What takes its time on a slow disk is no moment that a fork has to wait for."""
    path, begun, end = tmp_path / f"{new_id().hex}.lock", threading.Event(), threading.Event()

    def hold_on() -> bool:
        begun.set()
        return end.wait()

    thread = threading.Thread(
        target=lambda: WriterState.create(path, new_id(), Identity("p", "h"), 1, still=hold_on).close()
    )
    thread.start()
    begun.wait()
    try:
        assert in_child(lambda: not end.is_set()) == 0
        assert [lock._hung for lock in forks._locks] == [-1] * len(forks._locks), "it waited"
    finally:
        end.set()
        thread.join()


def test_the_driver_works_where_no_fork_falls_between_and_waits_where_one_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TLS takes locks in each step. A child of such a step hung at its own connection, about one time in a hundred."""
    reading, writing = os.pipe()
    os.write(writing, b"x")
    held: list[bool] = []
    free: list[bool] = []

    def steps(_: str) -> Iterator[Any]:
        for _ in range(3):
            held.append(unforked.held)
            yield reading, waiting.Wait.R
        held.append(unforked.held)
        raise psycopg.OperationalError

    class Selector(waiting.DefaultSelector):  # type: ignore[misc, valid-type]
        def select(self, timeout: float | None = None) -> Any:
            free.append(not unforked.held)
            return super().select(timeout)

    monkeypatch.setattr("psycopg.generators.connect", steps)
    monkeypatch.setattr(waiting, "DefaultSelector", Selector)
    with pytest.raises(DatabaseUnavailable):
        connect("host=127.0.0.1", "ragledger")
    assert held == [True] * 4
    assert free == [True] * 3
    os.close(reading)
    os.close(writing)


def in_child(true: Callable[[], object]) -> int:
    """Forks; 0 when it was true in the child within some time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(30)
            code = 0 if true() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class child_that_stays:
    """A forked child that lives until the block ends."""

    def __enter__(self) -> None:
        self._reading, self._writing = os.pipe()
        there, told = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._writing)
            os.write(told, b"x")
            select.select([self._reading], [], [])
            os._exit(0)
        os.read(there, 1)  # it has let go of what it will let go of
        os.close(there)
        os.close(told)

    def __exit__(self, *_: object) -> None:
        os.close(self._writing)
        os.waitpid(self._child, 0)
        os.close(self._reading)


def _is_free(lock: forks.ForkLock) -> bool:
    """Asked by another thread than the one that may hold it."""
    got: list[bool] = []

    def ask() -> None:
        got.append(lock.take(0))
        if got[0]:
            lock.give_back()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return got[0]
