"""Opening and closing a ledger: on a database that is down, on an embedded one, twice, too late, at exit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database
from psycopg.conninfo import make_conninfo

import ragledger
from ragledger import ConfigError, Ledger, schema
from ragledger.embedded import EmbeddedServer, default_base, status
from ragledger.postgres.connection import connect

pytestmark = pytest.mark.pg


def test_without_a_dsn_the_error_says_what_to_set() -> None:
    with pytest.raises(
        ConfigError, match=r"set RAGLEDGER_DSN, or pass dsn='postgresql://\.\.\.' or dsn='embedded'"
    ):
        ragledger.open()


def test_the_environment_names_the_database(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    monkeypatch.setenv("RAGLEDGER_PROJECT", "shop")
    ledger = ragledger.open(strict=True)
    search_id = _search(ledger)
    ledger.close()

    assert database.rows("SELECT search_id, project FROM searches") == [(search_id, "shop")]


def test_p5_what_is_searched_while_the_database_is_down_lands_when_it_is_up(
    server_dsn: str, make_ledger: Callable[..., Ledger]
) -> None:
    name = f"rl_late_{os.getpid()}"
    database = Database(make_conninfo(server_dsn, dbname=name))
    ledger = make_ledger(dsn=database.dsn)
    down = [_search(ledger), _search(ledger)]
    assert not ledger.flush(0.2)
    assert "no such database" in ledger.facts()["shipper"]["last_error"]

    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            down.append(_search(ledger))
            assert not ledger.flush(0.2)  # the schema is missing
            assert "run `ragledger init`" in ledger.facts()["shipper"]["last_error"]
            with connect(database.dsn, "ragledger") as connection:
                schema.apply(connection, "ragledger")
            assert ledger.flush()
            found = database.rows("SELECT search_id FROM searches ORDER BY search_id")
            ledger.close()
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")

    assert found == [(search_id,) for search_id in down]


def test_opening_does_not_wait_for_a_database_that_does_not_answer(
    make_ledger: Callable[..., Ledger],
) -> None:
    """Nor does a search: this one is on a port where nobody listens."""
    ledger = make_ledger(dsn="postgresql://127.0.0.1:1/nowhere", exit_drain_s=0.0)

    assert _search(ledger) is not None


def test_two_ledgers_on_two_databases_never_mix(
    make_database: Callable[[], Database], make_ledger: Callable[..., Ledger]
) -> None:
    one, two = make_database(), make_database()
    first, second = make_ledger(dsn=one.dsn), make_ledger(dsn=two.dsn, name="second")
    expected: dict[str, list[tuple[UUID]]] = {"one": [], "two": []}
    for _ in range(5):
        expected["one"].append((_search(first),))
        expected["two"].append((_search(second),))
    first.close()
    second.close()

    assert first.facts()["journal"] != second.facts()["journal"]
    assert one.rows("SELECT search_id FROM searches ORDER BY 1") == expected["one"]
    assert two.rows("SELECT search_id FROM searches ORDER BY 1") == expected["two"]


def test_two_schemas_of_one_database_never_mix(
    database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    with database.connect() as connection:
        schema.apply(connection, "second")
    first, second = make_ledger(), make_ledger(name="second", schema="second")
    ours, theirs = _search(first), _search(second)
    first.close()
    second.close()

    assert database.rows("SELECT search_id FROM ragledger.searches") == [(ours,)]
    assert database.rows("SELECT search_id FROM second.searches") == [(theirs,)]


_FORKED = """
import os, sys, ragledger
ledgers = [ragledger.open(sys.argv[1]), ragledger.open(sys.argv[2])]
def search():
    for ledger in ledgers:
        with ledger.search():
            pass
    return all(ledger.flush(60) for ledger in ledgers)
assert search()
connections = [ledger._parts.backend.thread.shipper._connection for ledger in ledgers]
child = os.fork()
if not child:
    landed = search()
    shared = [ledger._parts.backend.thread.shipper._connection in connections for ledger in ledgers]
    os._exit(0 if landed and not any(shared) else 1)
assert os.waitpid(child, 0)[1] == 0
assert search()
"""


def test_p5_a_fork_leaves_each_of_two_ledgers_of_one_name_a_connection_of_its_own(
    make_database: Callable[[], Database],
) -> None:
    one, two = make_database(), make_database()
    _python(_FORKED, one.dsn, two.dsn)

    assert one.value("SELECT count(*) FROM searches") == two.value("SELECT count(*) FROM searches") == 3


def test_closing_twice_is_closing_once(ledger: Ledger, database: Database) -> None:
    search_id = _search(ledger)
    ledger.close()
    ledger.close()

    assert database.rows("SELECT search_id FROM searches") == [(search_id,)]
    assert ledger.facts()["faults"] == {}


def test_closing_lets_go_of_every_connection_and_journal_file(
    make_ledger: Callable[..., Ledger], database: Database
) -> None:
    """The one that checks votes as well."""
    ledger, other = make_ledger(), make_ledger(name="other")
    search_id = _search(ledger)
    assert ledger.flush()
    other.vote(search_id, rank=1, outcome="relevant")
    ledger.close()
    other.close()

    ours = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    _until(lambda: database.value(ours) == 0)
    assert list(Path(ledger.facts()["journal"]).iterdir()) == []
    assert database.value("SELECT count(*) FROM current_votes") == 1


def test_a_ledger_can_be_opened_after_another_one_was_closed(
    make_ledger: Callable[..., Ledger], database: Database
) -> None:
    first = make_ledger()
    searches = [_search(first)]
    first.close()
    second = make_ledger()
    searches.append(_search(second))
    second.close()

    assert database.rows("SELECT search_id FROM searches ORDER BY 1") == [(found,) for found in searches]
    assert database.value("SELECT count(*) FROM writers WHERE finished_at IS NOT NULL") == 2


def test_p6_a_search_after_closing_has_a_receipt_that_holds(
    make_ledger: Callable[..., Ledger], database: Database
) -> None:
    first = make_ledger()
    first.close()
    search_id = _search(first)
    first._parts.backend.journal.release()  # as the end of the process would
    second = make_ledger()
    _until(lambda: database.value("SELECT count(*) FROM searches WHERE search_id = %s", search_id) == 1)
    second.close()


_LEFT_OPEN = """
import sys, ragledger
ledger = ragledger.open(sys.argv[1], strict=True)
with ledger.search() as search:
    pass
print(search.receipt.search_id)
"""


def test_a_ledger_that_is_never_closed_is_drained_at_exit(database: Database) -> None:
    ran = _python(_LEFT_OPEN, database.dsn)

    assert ran.stderr == ""
    assert database.rows("SELECT search_id::text FROM searches") == [(ran.stdout.strip(),)]
    assert database.value("SELECT count(*) FROM writers WHERE finished_at IS NOT NULL") == 1


def test_p5_an_exit_while_the_database_is_down_leaves_it_to_the_next(
    database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    broken = make_conninfo(database.dsn, user="nobody_of_that_name")  # the user is no part of the target
    ran = _python(_LEFT_OPEN, broken)
    assert "waits" in ran.stderr or "they wait in the journal" in ran.stderr

    make_ledger().close()
    assert database.rows("SELECT search_id::text FROM searches") == [(ran.stdout.strip(),)]


# --- embedded ----------------------------------------------------------------------------------------------


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short one: a socket path may have about 100 bytes."""
    path = Path(tempfile.mkdtemp(prefix="rl-home-"))
    path.chmod(0o755)  # as root, the server runs as another user
    monkeypatch.setenv("RAGLEDGER_HOME", str(path))
    yield path
    _until(lambda: not status(default_base())["running"])
    shutil.rmtree(path, ignore_errors=True)


def test_the_embedded_database_is_made_used_and_left(home: Path) -> None:
    ledger = ragledger.open("embedded", strict=True)
    search_id = _search(ledger)
    assert ledger.flush()
    os.kill(int(str(status(default_base())["postgres_pid"])), signal.SIGKILL)
    after = _search(ledger)
    assert ledger.flush(30)  # brought up again
    ledger.close()
    _until(lambda: not status(default_base())["running"])

    with EmbeddedServer.acquire() as server, connect(server.dsn, "ragledger") as connection:
        rows = connection.execute("SELECT search_id FROM searches ORDER BY 1").fetchall()
    assert rows == [(search_id,), (after,)]


def test_an_opening_that_fails_does_not_keep_the_embedded_server(home: Path) -> None:
    with pytest.raises(ConfigError, match="at least 16 bytes"):
        ragledger.open("embedded", key=b"short")

    _until(lambda: not status(default_base())["running"])


def _search(ledger: Ledger) -> UUID:
    with ledger.search(corpus="handbook") as search:
        search.candidates(ragledger.Candidate("c1", score=0.5))
    assert search.receipt.search_id is not None
    return search.receipt.search_id


def _python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-W", "default:This process:DeprecationWarning", "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran


def _until(condition: Callable[[], Any], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
