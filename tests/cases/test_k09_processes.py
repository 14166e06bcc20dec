"""K9: what a fork shares, and how long an exit may take."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from fix_pg import Database
from integration.shipping import SEARCH, World, balanced, ids, run

pytestmark = [pytest.mark.pg, pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")]


@pytest.fixture
def black_hole() -> Iterator[int]:
    """The port of somebody who takes every connection and never says a word."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        held: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    held.append(listening.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        for each in held:
            each.close()
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_p5_d37_a_connection_is_not_shared_by_a_fork(database: Database) -> None:
    """Parent and child both check votes against the database, before and after the fork, at the same time."""
    world = World(database)
    code = """
import uuid
first = ragledger.open(name="first")
search(first)
assert first.flush(60)
[number] = first.recorder.known._hits
given = uuid.UUID(int=number)
first.recorder.known._hits.clear()  # so that the table has to be asked

def vote(actor):
    first.recorder.known._hits.clear()
    assert first.vote(given, "a", "relevant", actor=actor).status == "journalled"

vote("human:parent-before")
child = os.fork()
for number in range(20):
    vote(f"human:{'parent' if child else 'child'}-{number}")
assert first.flush(60), first.facts()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    vote("human:parent-after")
first.close()
"""
    run(SEARCH + code, database.dsn, PYTHONWARNINGS="ignore")
    world.ship()
    assert database.value("SELECT count(DISTINCT actor_id) FROM feedback") == 42
    assert balanced(database, world.directory).written == 43


@pytest.mark.parametrize("asleep", ["database", "collector"])
def test_p5_d39_an_exit_beside_somebody_who_never_answers_is_bounded(
    database: Database, black_hole: int, asleep: str
) -> None:
    """Our drain has 2 s; the row is in the table, or waits in the journal. An exporter's own time is the SDK's."""
    dsn = database.dsn
    environ = {}
    code = SEARCH + "l = ragledger.open(); search(l)\n"
    if asleep == "database":
        dsn = psycopg.conninfo.make_conninfo(dsn, host="127.0.0.1", port=black_hole)
    else:
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{black_hole}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        }
        code = (
            "from opentelemetry import trace\n"
            "from opentelemetry.sdk.trace import TracerProvider\n"
            "from opentelemetry.sdk.trace.export import BatchSpanProcessor\n"
            "from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter\n"
            "provider = TracerProvider()\n"
            "provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=1)))\n"
            "trace.set_tracer_provider(provider)\n"
        ) + code
    done = run(code, dsn, **environ)  # within its timeout, or this fails
    assert "ragledger" not in done.stderr
    given = ids(done.stdout)
    assert len(given) == 1
    if asleep == "collector":
        assert World(database).stored() == given
    else:
        import ragledger

        waiting = ragledger.wiring.target_from(dsn=dsn).journal_dir
        assert list(waiting.glob("*.seg"))
