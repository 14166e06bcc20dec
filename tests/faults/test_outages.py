"""The database goes away for real, in every way that it can: nothing is lost, doubled or rejected, nobody restarts."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from faults.proxy import Proxy
from fix_pg import Database
from integration.shipping import World, balanced, make_search, wait_until
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragledger import Candidate, Ledger, schema
from ragledger.embedded import EmbeddedServer
from ragledger.errors import DatabaseUnavailable
from ragledger.postgres.connection import connect

pytestmark = [pytest.mark.pg, pytest.mark.faults]


@dataclass
class Stage:
    """A ledger of an ordinary role, beside whoever may change the server."""

    world: World
    ledger: Ledger
    admin: psycopg.Connection[Any]
    name: str
    role: str
    proxy: Proxy

    def terminate(self) -> None:
        """Ends every session of the application."""
        self.admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = %s",
            [self.name, self.role],
        )


def search(ledger: Ledger, count: int) -> list[UUID]:
    found = []
    for number in range(count):
        with ledger.search(corpus="c") as observation:
            observation.candidates(Candidate(f"chunk-{number}", score=0.5))
        assert observation.receipt.search_id is not None, "an outage reached the caller"
        found.append(observation.receipt.search_id)
    return found


@pytest.fixture
def stage(database: Database, server_dsn: str, make_ledger: Callable[..., Ledger]) -> Iterator[Stage]:
    name = str(conninfo_to_dict(database.dsn)["dbname"])
    role = f"app_{name}"  # roles belong to the whole server, which other tests use at the same time
    with (
        psycopg.connect(server_dsn, autocommit=True) as admin,
        Proxy(make_conninfo(database.dsn, user=role)) as proxy,
    ):
        admin.execute(f"CREATE ROLE {role} LOGIN IN ROLE ragledger_writer")
        ledger = make_ledger(dsn=proxy.dsn, strict=False, exit_drain_s=0.0)
        world = World(database)
        world.directory = ledger._parts.backend.journal.directory
        yield Stage(world, ledger, admin, name, role, proxy)
        ledger.close()
        admin.execute(f"DROP ROLE {role}")


Fault = Callable[[Stage], AbstractContextManager[object]]


@contextmanager
def read_only(stage: Stage) -> Iterator[None]:
    stage.admin.execute(f'ALTER DATABASE "{stage.name}" SET default_transaction_read_only = on')
    stage.terminate()
    yield
    stage.admin.execute(f'ALTER DATABASE "{stage.name}" RESET default_transaction_read_only')
    stage.terminate()


@contextmanager
def out_of_connections(stage: Stage) -> Iterator[None]:
    stage.admin.execute(f"ALTER ROLE {stage.role} CONNECTION LIMIT 0")
    stage.terminate()
    yield
    stage.admin.execute(f"ALTER ROLE {stage.role} CONNECTION LIMIT -1")


@contextmanager
def login_revoked(stage: Stage) -> Iterator[None]:
    stage.admin.execute(f"ALTER ROLE {stage.role} NOLOGIN")
    stage.terminate()
    yield
    stage.admin.execute(f"ALTER ROLE {stage.role} LOGIN")


@contextmanager
def rights_revoked(stage: Stage) -> Iterator[None]:
    with stage.world.database.connect() as connection:
        connection.execute("REVOKE INSERT ON hits FROM ragledger_writer")
        yield
        connection.execute("GRANT INSERT ON hits TO ragledger_writer")


@contextmanager
def schema_newer(stage: Stage) -> Iterator[None]:
    with stage.world.database.connect() as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (999, 'from the future')")
        stage.terminate()
        yield
        connection.execute("DELETE FROM schema_migrations WHERE version = 999")


@contextmanager
def schema_dropped_and_made_anew(stage: Stage) -> Iterator[None]:
    with stage.world.database.connect() as connection:
        connection.execute("ALTER SCHEMA ragledger RENAME TO elsewhere")
        yield
        connection.execute("ALTER SCHEMA elsewhere RENAME TO ragledger")


@contextmanager
def locked_table(stage: Stage) -> Iterator[None]:
    with stage.world.database.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE hits IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def network_refuses(stage: Stage) -> Iterator[None]:
    stage.proxy.refuse()
    yield
    stage.proxy.refuse(on=False)


@contextmanager
def packets_dropped(stage: Stage) -> Iterator[None]:
    stage.proxy.freeze()
    yield
    stage.proxy.thaw()


FAULTS: list[Fault] = [
    read_only,
    out_of_connections,
    login_revoked,
    rights_revoked,
    schema_newer,
    schema_dropped_and_made_anew,
    locked_table,
    network_refuses,
    packets_dropped,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_p5_whatever_happens_to_the_database_every_receipt_is_in_the_table_once_afterwards(
    stage: Stage, fault: Fault
) -> None:
    given = search(stage.ledger, 50)
    assert stage.ledger.flush(30)
    with fault(stage):
        given += search(stage.ledger, 300)
        assert not stage.ledger.flush(1.0)
        given += search(stage.ledger, 50)
    given += search(stage.ledger, 50)
    assert stage.ledger.flush(60), stage.ledger.facts()
    assert stage.world.stored() == given
    assert stage.world.rejected() == {}
    total = balanced(stage.world.database, stage.world.directory)
    assert (total.offered, total.written) == (450, 450)
    assert stage.ledger.facts()["faults"] == {}


def test_p5_a_slow_network_only_takes_longer(stage: Stage) -> None:
    stage.proxy.delay_s = 0.2
    given = search(stage.ledger, 500)
    assert stage.ledger.flush(60)
    assert stage.world.stored() == given
    assert stage.world.rejected() == {}


def test_p5_a_half_open_connection_is_given_up_and_replaced(stage: Stage) -> None:
    """Nothing is answered and nothing is closed: the server's own timeout can end nothing here."""
    world = stage.world
    journal = world.journal()
    for _ in range(10):
        journal.put(make_search("a"))
    shipper = world.shipper(live_writers=True)
    shipper._connect = lambda: connect(stage.proxy.dsn, "ragledger", statement_timeout_s=1.0)
    shipper._open()
    stage.proxy.freeze()
    with pytest.raises(DatabaseUnavailable):
        shipper.ship()
    shipper.close()
    stage.proxy.thaw()
    shipper.ship()
    shipper.close()
    journal.release()
    assert world.rejected() == {}
    assert world.database.value("SELECT count(*) FROM searches") == 10


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server that keeps its promises about crashes, of this test alone."""
    with (
        tempfile.TemporaryDirectory(prefix="ragledger-outage-") as base,
        EmbeddedServer.acquire(Path(base), timeout_s=60) as server,
    ):
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute("CREATE DATABASE app")
        with connect(make_conninfo(server.dsn, dbname="app"), "ragledger") as connection:
            schema.apply(connection, "ragledger")
        yield server


def is_up(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def shut_down(server: EmbeddedServer, dsn: str) -> None:
    server.release()
    wait_until(lambda: not is_up(dsn))


def crash(server: EmbeddedServer, dsn: str) -> None:
    os.kill(int((server.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    wait_until(lambda: not is_up(dsn))
    server.release()


def test_p5_a_server_that_is_down_at_the_start_gets_everything_later(
    own_server: EmbeddedServer, make_ledger: Callable[..., Ledger]
) -> None:
    dsn = make_conninfo(own_server.dsn, dbname="app")
    shut_down(own_server, dsn)
    ledger = make_ledger(dsn=dsn)
    given = search(ledger, 200)
    assert not ledger.flush(1.0)
    own_server.ensure(timeout_s=60)
    assert ledger.flush(60)
    assert World(Database(dsn)).stored() == given


@pytest.mark.parametrize("stop", [shut_down, crash])
def test_p5_a_server_that_stops_and_starts_beside_a_busy_application_loses_and_doubles_nothing(
    own_server: EmbeddedServer,
    make_ledger: Callable[..., Ledger],
    stop: Callable[[EmbeddedServer, str], None],
) -> None:
    dsn = make_conninfo(own_server.dsn, dbname="app")
    ledger = make_ledger(dsn=dsn)
    given: list[UUID] = []
    done = threading.Event()

    def work() -> None:
        while not done.wait(0.002):
            given.extend(search(ledger, 5))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            so_far = len(given)
            wait_until(lambda so_far=so_far: len(given) > so_far + 200)  # type: ignore[misc]
            stop(own_server, dsn)
            own_server.ensure(timeout_s=60)
            assert ledger.flush(1) or ledger.flush(60)
    finally:
        done.set()
        thread.join()
    assert ledger.flush(60), ledger.facts()
    world = World(Database(dsn))
    assert world.stored() == given
    assert world.rejected() == {}
    assert balanced(world.database, world.directory).written == len(given)
