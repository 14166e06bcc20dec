"""Several sessions of one collector: they make what one session makes, and none of them is beside another runner's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from collector_world import arrive, collect, forget, rollups, verified
from fix_pg import Database
from integration.shipping import wait_until
from measures.table_rows import START, TableRows, hit

from ragledger.errors import CollectorBusy, DatabaseUnavailable, EmbeddedError, SchemaError
from ragledger_collector import Collector, Passed, arrivals

pytestmark = pytest.mark.pg

_PROJECTS = 3
_MINUTES = 12


@pytest.fixture
def backlog(database: Database) -> Database:
    """Projects with minutes of their own, on four days."""
    rows = TableRows()
    for number in range(_PROJECTS * _MINUTES):
        minute, project = divmod(number, _PROJECTS)
        search = rows.search(
            hit(document_id=f"d{number % 5}"),
            project=f"p{project}",
            started_at=START + timedelta(hours=6 * minute),
        )
        rows.vote(search, 1, "relevant")
    with database.connect() as connection:
        arrive(connection, rows)
    return database


class Sessions:
    """Sessions that a collector asked for."""

    def __init__(self, database: Database, role: str = "ragledger_collector") -> None:
        self._database = database
        self._role = role
        self.made: list[psycopg.Connection[Any]] = []

    def __call__(self) -> psycopg.Connection[Any]:
        self.made.append(self._database.connect(role=self._role))
        return self.made[-1]


def passed(database: Database, **options: Any) -> Passed:
    return collect(database, minutes=2, **options)


def test_p11_several_sessions_make_what_one_makes(backlog: Database) -> None:
    sessions = Sessions(backlog)
    found = passed(backlog, connect=sessions, sessions=2)
    assert found == Passed(records=2 * _PROJECTS * _MINUTES, minutes=_PROJECTS * _MINUTES, days=_PROJECTS * 4)
    assert len(sessions.made) == 2, "one for minutes, one for documents"
    assert all(made.closed for made in sessions.made)
    assert (verified(backlog).differing, verified(backlog).waiting) == ((), 0)
    side_by_side = rollups(backlog)
    forget(backlog)
    assert passed(backlog) == found
    assert rollups(backlog) == side_by_side


@contextmanager
def held_up(database: Database) -> Iterator[None]:
    """Whoever computes the first project waits."""
    with database.connect() as held:
        held.execute("BEGIN")
        held.execute(_SERIES)
        yield
        held.execute("ROLLBACK")


_SERIES = """
INSERT INTO rollup_series (series_id, project, corpus, surface, has_session, actor_kind, epoch)
SELECT DISTINCT md5(jsonb_build_array(project, corpus, surface, session_id IS NOT NULL, actor_kind, epoch)::text)::uuid,
    project, corpus, surface, session_id IS NOT NULL, actor_kind, epoch
FROM searches WHERE project = 'p0'
"""


def test_the_others_go_on_while_one_waits(backlog: Database) -> None:
    with ThreadPoolExecutor(1) as pool:
        with held_up(backlog):
            found = pool.submit(passed, backlog, connect=Sessions(backlog), sessions=2)
            wait_until(lambda: backlog.rows("SELECT DISTINCT project FROM rollup_dirty") == [("p0",)])
        assert found.result(60).minutes == _PROJECTS * _MINUTES
    assert (verified(backlog).differing, verified(backlog).waiting) == ((), 0)


def test_what_fails_in_another_session_fails_the_pass_and_the_next_one_goes_on(backlog: Database) -> None:
    sessions = Sessions(backlog, role="ragledger_reader")
    with ThreadPoolExecutor(1) as pool:
        with held_up(backlog):  # so that it comes before the work is done
            failing = pool.submit(passed, backlog, connect=sessions, sessions=2)
            wait_until(lambda: sessions.made and sessions.made[0].closed)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            failing.result(60)
    passed(backlog)
    assert (verified(backlog).differing, verified(backlog).waiting) == ((), 0)


def test_a_session_that_cannot_be_had_is_done_without(backlog: Database) -> None:
    def nobody() -> psycopg.Connection[Any]:
        raise DatabaseUnavailable("no connection to the database: the server has no connection left")

    assert passed(backlog, connect=nobody, sessions=2).minutes == _PROJECTS * _MINUTES
    assert verified(backlog).differing == ()


@pytest.mark.parametrize("raised", [SchemaError("newer"), EmbeddedError("gone"), OSError(24, "files")])
def test_a_session_that_may_not_be_had_fails_the_pass_and_holds_nobody_up(
    backlog: Database, raised: Exception
) -> None:
    def nobody() -> psycopg.Connection[Any]:
        raise raised

    failing: Future[Passed] = Future()
    threading.Thread(target=lambda: _into(failing, backlog, nobody), daemon=True).start()
    with pytest.raises(type(raised)):
        failing.result(60)
    passed(backlog)
    assert (verified(backlog).differing, verified(backlog).waiting) == ((), 0)


def _into(future: Future[Passed], database: Database, connect: Any) -> None:
    try:
        future.set_result(passed(database, connect=connect, sessions=2))
    except Exception as exc:
        future.set_exception(exc)


def test_a_thread_that_cannot_be_started_fails_the_pass(
    backlog: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        begin(thread)

    begin = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        passed(backlog, connect=Sessions(backlog), sessions=3)
    assert not started[0].is_alive()


@pytest.mark.parametrize("options", [{"minutes": 240}, {"minutes": 2, "sessions": 1}])
def test_where_little_is_to_do_one_session_does_it(backlog: Database, options: dict[str, int]) -> None:
    sessions = Sessions(backlog)
    with backlog.connect(role="ragledger_collector") as connection:
        collector = Collector(connection, connect=sessions, **options)
        collector.lock()
        collector.run(documents=False)
    assert sessions.made == []


def test_nobody_runs_beside_one_who_works_for_a_runner_that_is_gone(database: Database) -> None:
    first, helper, second = (database.connect(role="ragledger_collector") for _ in range(3))
    with helper, second:
        Collector(first).lock()
        runner = first.info.backend_pid
        assert arrivals.joined(helper, runner)
        assert not arrivals.joined(second, runner + 1), "that one does not lead"
        second.execute("SELECT pg_advisory_unlock_all()")
        first.close()
        wait_until(lambda: runner not in _backends(database))
        with pytest.raises(CollectorBusy):
            Collector(second).lock()
        helper.execute("SELECT pg_advisory_unlock_all()")
        Collector(second).lock()
        assert not arrivals.joined(helper, runner), "its runner is gone"
        assert arrivals.joined(helper, second.info.backend_pid)


def _backends(database: Database) -> set[int]:
    return {pid for (pid,) in database.rows("SELECT pid FROM pg_stat_activity")}
