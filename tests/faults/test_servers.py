"""A server of the test's own: stopped, killed, in recovery, with other rules for who may enter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from faults.page import Facts
from faults.stage import Application, crash, is_up, settled, shut_down, world_of
from integration.shipping import wait_until
from psycopg.conninfo import make_conninfo

from ragledger import Ledger
from ragledger.embedded import EmbeddedServer

pytestmark = [pytest.mark.pg, pytest.mark.faults]

MakeLedger = Callable[..., Ledger]


def test_p5_a_server_that_is_down_at_the_start_gets_everything_later(
    own_server: EmbeddedServer, make_ledger: MakeLedger, facts: Facts
) -> None:
    dsn = make_conninfo(own_server.dsn, dbname="app")
    shut_down(own_server, dsn)
    ledger = make_ledger(dsn=dsn)
    application = Application(ledger)
    application.search(200)
    assert not ledger.flush(1.0)
    own_server.ensure(timeout_s=60)
    assert ledger.flush(60)
    outcome = settled(world_of(dsn, ledger), application)
    facts("outages", "down at the start", "the server is started later", application.truth, outcome, times=1)
    assert outcome.faults == ()


@pytest.mark.parametrize("stop", [shut_down, crash])
def test_p5_a_server_that_stops_and_starts_beside_a_busy_application_loses_and_doubles_nothing(
    own_server: EmbeddedServer,
    make_ledger: MakeLedger,
    facts: Facts,
    stop: Callable[[EmbeddedServer, str], None],
) -> None:
    dsn = make_conninfo(own_server.dsn, dbname="app")
    ledger = make_ledger(dsn=dsn)
    application = Application(ledger)
    with application.busy() as truth:
        for _ in range(3):
            so_far = truth.receipts
            wait_until(lambda so_far=so_far: truth.receipts > so_far + 200)  # type: ignore[misc]
            stop(own_server, dsn)
            own_server.ensure(timeout_s=60)
            assert ledger.flush(1) or ledger.flush(60)
    assert ledger.flush(60), ledger.facts()
    redone = (own_server.base / "server.log").read_text().count("redo starts at")
    assert redone or stop is shut_down, "a killed server has work to redo"
    how = {
        shut_down: "fast shutdown and start",
        crash: f"`kill -9` of the server and start; {redone} starts had work to redo",
    }
    outcome = settled(world_of(dsn, ledger), application)
    facts("outages", f"restarted, {stop.__name__}", how[stop], truth, outcome, times=3)
    assert outcome.faults == ()


def test_p5_a_server_in_recovery_takes_everything_once_it_is_promoted(
    own_server: EmbeddedServer, make_ledger: MakeLedger, facts: Facts
) -> None:
    dsn = make_conninfo(own_server.dsn, dbname="app")
    ledger = make_ledger(dsn=dsn)
    application = Application(ledger)
    application.search(50)
    assert ledger.flush(60)
    shut_down(own_server, dsn)
    signal_file = own_server.data / "standby.signal"
    signal_file.touch()
    os.chown(signal_file, own_server.data.stat().st_uid, -1)
    own_server.ensure(timeout_s=60)
    with psycopg.connect(own_server.dsn, autocommit=True) as admin:
        assert admin.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
        application.search(300)
        assert not ledger.flush(1.0)
        assert admin.execute("SELECT pg_promote()").fetchone() == (True,)
    application.search(50)
    assert ledger.flush(60), ledger.facts()
    outcome = settled(world_of(dsn, ledger), application)
    how = "started as a hot standby, then promoted"
    facts("outages", "in recovery", how, application.truth, outcome, times=1)
    assert outcome.faults == ()


@contextmanager
def password_demanded(server: EmbeddedServer, dsn: str) -> Iterator[None]:
    """`pg_hba.conf` demands a password that the application does not have; its sessions are ended."""
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        rules.write_text("local all all scram-sha-256\n")
        admin.execute("SELECT pg_reload_conf()")
        wait_until(lambda: not is_up(dsn))
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'app'")
        yield
        rules.write_text(before)
        admin.execute("SELECT pg_reload_conf()")
        wait_until(lambda: is_up(dsn))


def test_p5_a_server_that_asks_for_a_password_now_gets_everything_when_it_stops_asking(
    own_server: EmbeddedServer, make_ledger: MakeLedger, facts: Facts
) -> None:
    dsn = make_conninfo(own_server.dsn, dbname="app")
    ledger = make_ledger(dsn=dsn)
    application = Application(ledger)
    application.search(50)
    assert ledger.flush(60)
    with password_demanded(own_server, dsn):
        application.search(300)
        assert not ledger.flush(1.0)
    application.search(50)
    assert ledger.flush(60), ledger.facts()
    outcome = settled(world_of(dsn, ledger), application)
    facts("outages", "authentication changed", password_demanded.__doc__, application.truth, outcome, times=1)
    assert outcome.faults == ()
