"""Whole processes: how they end, fork, and leave their journal to somebody else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from fix_pg import Database
from integration.shipping import RAGLEDGER, SEARCH, World, balanced, ids, run, ship_command, wait_until

from ragledger import Candidate, Ledger, schema
from ragledger.journal import directory as files
from ragledger.journal.state import WriterState
from ragledger.testing import make_search

pytestmark = [
    pytest.mark.pg,
    pytest.mark.processes,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


@pytest.fixture
def follow(database: Database) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`ragledger ship --follow`, ready."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*RAGLEDGER, "ship", "--follow", "--nice", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"RAGLEDGER_DSN": database.dsn},
        )
        started.append(process)
        assert process.stderr is not None
        assert process.stderr.readline() == "ragledger ship: following\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_sidecar_ships_an_application_that_never_imports_the_driver(
    world: World, follow: Callable[..., subprocess.Popen[str]]
) -> None:
    sidecar = follow("--json")
    code = """
ledger = ragledger.open(ship="sidecar")
for _ in range(50):
    search(ledger)
assert ledger.flush(60), ledger.facts()
assert "psycopg" not in sys.modules
search(ledger)
ledger.close()
assert "psycopg" not in sys.modules
"""
    done = run(SEARCH + code, world.database.dsn)
    given = ids(done.stdout)
    wait_until(lambda: len(world.stored()) == 51)
    wait_until(lambda: list(world.directory.iterdir()) == [])
    sidecar.send_signal(signal.SIGTERM)
    output, _ = sidecar.communicate(timeout=60)
    assert sidecar.returncode == 0
    assert json.loads(output) == {"landed": 51, "rejected": 0, "waiting": 0, "writers": 0}
    assert world.stored() == given
    assert balanced(world.database, world.directory).written == 51


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_following_ends_on_a_signal_with_exit_code_0_also_while_the_database_is_away(
    world: World, follow: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    dsn = psycopg.conninfo.make_conninfo(world.database.dsn, host="127.0.0.1", port=1)
    sidecar = follow("--dsn", dsn)
    assert sidecar.stderr is not None
    assert sidecar.stderr.readline().startswith("ragledger ship: waiting for the database (no connection")
    sidecar.send_signal(number)
    _, errors = sidecar.communicate(timeout=60)
    assert (sidecar.returncode, errors) == (0, "")


def test_following_recovers_by_itself_when_the_schema_comes(
    empty_database: Database, follow: Callable[..., subprocess.Popen[str]]
) -> None:
    world = World(empty_database)
    journal = world.journal()
    journal.put(make_search("a"))
    sidecar = follow("--dsn", empty_database.dsn)
    assert sidecar.stderr is not None
    assert "run `ragledger init`" in sidecar.stderr.readline()
    with empty_database.connect() as connection:
        schema.apply(connection, "ragledger")
    wait_until(lambda: world.stored() != [])
    assert sidecar.stderr.readline() == "ragledger ship: the table takes records again\n"
    journal.release()


def test_shipping_once_takes_the_dead_whole_and_the_living_up_to_now(world: World) -> None:
    dead, living = world.journal(), world.journal()
    for journal in (dead, living):
        for _ in range(3):
            journal.put(make_search("a"))
    dead.release()
    done = ship_command(world.database.dsn, "--json")
    assert json.loads(done.stdout) == {"landed": 6, "rejected": 0, "waiting": 0, "writers": 1}
    assert [path.stem for path in files.locks(world.directory)] == [living.writer.writer_id.hex]  # type: ignore[union-attr]
    again = ship_command(world.database.dsn)
    assert (again.returncode, again.stdout) == (
        0,
        "0 record(s) landed, 0 rejected, 0 waiting in 1 journal(s)\n",
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--dsn", "host=127.0.0.1 port=1"], "ragledger: no connection to the database"),
        (["--dsn", "nonsense"], "ragledger: the dsn is neither"),
        (["--schema", "elsewhere"], "ragledger: there is no schema `elsewhere`"),
    ],
)
def test_shipping_that_cannot_be_done_is_one_clear_line_and_exit_code_2(
    world: World, arguments: list[str], line: str
) -> None:
    done = ship_command(world.database.dsn, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(line)
    assert len(done.stderr.splitlines()) == 1


def test_a_running_application_adopts_a_writer_that_died(
    world: World, make_ledger: Callable[..., Ledger]
) -> None:
    ledger = make_ledger()
    done = run(SEARCH + "search(ragledger.open(ship='sidecar')); os._exit(0)", world.database.dsn)
    wait_until(lambda: world.stored() == ids(done.stdout))
    wait_until(lambda: len(files.locks(world.directory)) == 1)
    assert ledger.flush(60)


def test_p5_a_database_made_anew_while_the_application_lives_gets_what_comes_then(
    world: World, make_ledger: Callable[..., Ledger], server_dsn: str, template: str
) -> None:
    ledger = make_ledger()
    search(ledger, "before")
    assert ledger.flush(60)
    name = psycopg.conninfo.conninfo_to_dict(world.database.dsn)["dbname"]
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        search(ledger, "in between")
        assert not ledger.flush(0.5)
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    search(ledger, "after")
    assert ledger.flush(60)
    assert world.database.rows(
        "SELECT chunk_id FROM hits JOIN searches USING (search_id) ORDER BY writer_seq"
    ) == [
        ("in between",),
        ("after",),
    ]
    assert world.rejected() == {}


def test_p5_a_schema_that_comes_late_needs_no_restart(
    empty_database: Database, make_ledger: Callable[..., Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    ledger = make_ledger(dsn=empty_database.dsn)
    search(ledger, "early")
    assert not ledger.flush(1)
    assert "ragledger init" in ledger.facts()["shipper"]["last_error"]
    with empty_database.connect() as connection:
        schema.apply(connection, "ragledger")
    assert ledger.flush(60)
    assert empty_database.value("SELECT count(*) FROM searches") == 1
    assert len([entry for entry in caplog.records if "takes no records now" in entry.getMessage()]) == 1
    assert "the table takes records again" in caplog.text


def search(ledger: Ledger, chunk: str) -> Any:
    with ledger.search(corpus="c") as found:
        found.candidates(Candidate(chunk, score=0.5))
    assert found.receipt.search_id is not None
    return found.receipt


def test_p4_closing_waits_for_no_sidecar(world: World, make_ledger: Callable[..., Ledger]) -> None:
    ledger = make_ledger(ship="sidecar", exit_drain_s=10_000.0)
    receipt = search(ledger, "a")
    ledger.close()
    assert world.stored() == []
    world.ship()
    assert world.stored() == [receipt.search_id]


def test_closing_leaves_no_file_no_descriptor_and_no_thread(
    world: World, make_ledger: Callable[..., Ledger]
) -> None:
    make_ledger().close()
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(5):
        ledger = make_ledger()
        search(ledger, "a")
        ledger.close()
    assert len(world.stored()) == 5
    assert list(world.directory.iterdir()) == []
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_a_closed_ledger_still_keeps_searches_for_whoever_ships_next(
    world: World, make_ledger: Callable[..., Ledger]
) -> None:
    ledger = make_ledger()
    search(ledger, "early")
    ledger.close()
    shipper = ledger._parts.backend.thread.shipper
    assert shipper is not None
    connections: list[object] = []
    shipper._connect = lambda: connections.append(1) or world.target.connect()  # type: ignore[func-returns-value]
    receipt = search(ledger, "late")
    [path] = files.locks(world.directory)
    assert WriterState.adopt(path) is None
    for thread in threading.enumerate():
        if thread.name == "ragledger-shipper":
            thread.join()
    assert connections == []
    world.ship()
    assert world.stored()[1:] == [receipt.search_id]
