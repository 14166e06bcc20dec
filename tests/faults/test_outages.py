"""The database goes away for real, in every way that it can: nothing is lost, doubled or rejected, nobody restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from faults.page import Facts
from faults.stage import Stage
from integration.shipping import balanced

from ragledger.errors import DatabaseUnavailable
from ragledger.postgres.connection import connect
from ragledger.testing import make_search

pytestmark = [pytest.mark.pg, pytest.mark.faults]


Fault = Callable[[Stage], AbstractContextManager[object]]


@contextmanager
def read_only(stage: Stage) -> Iterator[None]:
    """`default_transaction_read_only`, sessions ended"""
    stage.admin.execute(f'ALTER DATABASE "{stage.name}" SET default_transaction_read_only = on')
    stage.terminate()
    yield
    stage.admin.execute(f'ALTER DATABASE "{stage.name}" RESET default_transaction_read_only')
    stage.terminate()


@contextmanager
def out_of_connections(stage: Stage) -> Iterator[None]:
    """connection limit 0 for the role, sessions ended"""
    stage.admin.execute(f"ALTER ROLE {stage.role} CONNECTION LIMIT 0")
    stage.terminate()
    yield
    stage.admin.execute(f"ALTER ROLE {stage.role} CONNECTION LIMIT -1")


@contextmanager
def login_revoked(stage: Stage) -> Iterator[None]:
    """`NOLOGIN` for the role, sessions ended"""
    stage.admin.execute(f"ALTER ROLE {stage.role} NOLOGIN")
    stage.terminate()
    yield
    stage.admin.execute(f"ALTER ROLE {stage.role} LOGIN")


@contextmanager
def rights_revoked(stage: Stage) -> Iterator[None]:
    """`REVOKE INSERT` on one table"""
    with stage.world.database.connect() as connection:
        connection.execute("REVOKE INSERT ON hits FROM ragledger_writer")
        yield
        connection.execute("GRANT INSERT ON hits TO ragledger_writer")


@contextmanager
def schema_newer(stage: Stage) -> Iterator[None]:
    """a migration that this version does not know, sessions ended"""
    with stage.world.database.connect() as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (999, 'from the future')")
        stage.terminate()
        yield
        connection.execute("DELETE FROM schema_migrations WHERE version = 999")


@contextmanager
def schema_missing(stage: Stage) -> Iterator[None]:
    """the schema renamed, later renamed back"""
    with stage.world.database.connect() as connection:
        connection.execute("ALTER SCHEMA ragledger RENAME TO elsewhere")
        yield
        connection.execute("ALTER SCHEMA elsewhere RENAME TO ragledger")


@contextmanager
def locked_table(stage: Stage) -> Iterator[None]:
    """`LOCK TABLE hits` held by another session"""
    with stage.world.database.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE hits IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def network_refuses(stage: Stage) -> Iterator[None]:
    """a proxy closes every connection, also new ones"""
    stage.proxy.refuse()
    yield
    stage.proxy.refuse(on=False)


@contextmanager
def packets_dropped(stage: Stage) -> Iterator[None]:
    """a proxy forwards nothing and closes nothing"""
    stage.proxy.freeze()
    yield
    stage.proxy.thaw()


FAULTS: list[Fault] = [
    read_only,
    out_of_connections,
    login_revoked,
    rights_revoked,
    schema_newer,
    schema_missing,
    locked_table,
    network_refuses,
    packets_dropped,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_p5_whatever_happens_to_the_database_every_receipt_is_in_the_table_once_afterwards(
    stage: Stage, facts: Facts, fault: Fault
) -> None:
    application = stage.application
    application.search(50)
    assert stage.ledger.flush(30)
    with fault(stage):
        application.search(300)
        assert not stage.ledger.flush(1.0)
        application.search(50)
    application.search(50)
    assert stage.ledger.flush(60), stage.ledger.facts()
    outcome = stage.outcome()
    facts("outages", fault.__name__.replace("_", " "), fault.__doc__, application.truth, outcome, times=1)
    assert outcome.faults == ()
    total = balanced(stage.world.database, stage.world.directory)
    assert (total.offered, total.written) == (450, 450)


def test_p5_a_slow_network_only_takes_longer(stage: Stage, facts: Facts) -> None:
    stage.proxy.delay_s = 0.2
    stage.application.search(500)
    assert stage.ledger.flush(60)
    how = "a proxy holds every piece of data for 0.2 s"
    outcome = stage.outcome()
    facts("outages", "slow network", how, stage.application.truth, outcome, times=1)
    assert outcome.faults == ()


@pytest.mark.timeout(400)
def test_p5_a_server_that_takes_five_seconds_for_every_statement_holds_up_nobody(
    stage: Stage, facts: Facts
) -> None:
    stage.application.search(50)
    assert stage.ledger.flush(30)
    before, stage.proxy.statement_delay_s = stage.proxy.statements, 5.0
    stage.application.search(300)
    assert not stage.ledger.flush(1.0), "the searches waited for statements"
    assert stage.ledger.flush(180)
    stage.proxy.statement_delay_s = 0.0
    slow = stage.proxy.statements - before
    assert slow >= 4, "one batch is that many"
    outcome = stage.outcome()
    how = "a proxy holds every statement for 5 s"
    facts("outages", "slow statements", how, stage.application.truth, outcome, times=slow)
    assert outcome.faults == ()


def test_p5_a_half_open_connection_is_given_up_and_replaced(stage: Stage, facts: Facts) -> None:
    """Nothing is answered and nothing is closed: the server's own timeout can end nothing here."""
    world = stage.world
    journal = world.journal()
    truth = stage.application.truth
    for _ in range(10):
        search = make_search("a")
        assert journal.put(search) is None
        truth.gave(next(iter(truth.searches)), str(search.search_id), [["a", None]])
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
    outcome = stage.outcome()
    how = "a proxy stops forwarding between two statements; the shipper gives up by itself"
    facts("outages", "half-open connection", how, truth, outcome, times=1)
    assert outcome.faults == ()
