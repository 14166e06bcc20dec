"""Votes sent to Phoenix and Langfuse, as a real server receives them; and every way in which that can fail."""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest
from fix_pg import Database
from fix_spans import Spans
from integration.shipping import wait_until
from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from ragledger import Candidate, ConfigError, Ledger
from ragledger import push as module

pytestmark = pytest.mark.pg

MakeLedger = Callable[..., Ledger]


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any


class Backend:
    """Listens on this machine and writes down what comes."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.status = 200
        self.open = threading.Event()
        self.open.set()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                backend.open.wait(60)
                backend.received.append(Received(self.path, dict(self.headers), body))
                self.send_response(backend.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    backend = Backend()
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", backend.url + "/")
    monkeypatch.setenv("LANGFUSE_HOST", backend.url)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    yield backend
    backend.close()


def vote(ledger: Ledger, chunk_id: str = "b", actor: str = "human:ana") -> Any:
    with ledger.search() as search:
        search.candidates(Candidate("a"), Candidate("b"))
    assert ledger.vote(search.receipt.search_id, chunk_id, "relevant", actor=actor).status == "journalled"
    return search.receipt.search_id


def test_phoenix_gets_an_annotation_of_the_span(
    make_ledger: MakeLedger,
    spans: Spans,
    backend: Backend,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", "secret")
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix")
    search_id = vote(ledger)
    wait_until(lambda: len(backend.received) == 1)
    assert ledger.flush()
    (got,) = backend.received
    assert (got.path, got.headers["Authorization"]) == ("/v1/span_annotations", "Bearer secret")
    assert got.headers["Content-Type"] == "application/json"
    assert got.body == {
        "data": [
            {
                "span_id": f"{spans.finished[0].context.span_id:016x}",
                "name": "relevance",
                "annotator_kind": "HUMAN",
                "identifier": str(database.value("SELECT feedback_id FROM feedback")),
                "result": {"label": "relevant", "score": 2 / 3},
                "metadata": {"search_id": str(search_id), "rank": 2},
            }
        ]
    }


def test_langfuse_gets_a_score_of_the_observation(
    make_ledger: MakeLedger, spans: Spans, backend: Backend, database: Database
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, push="langfuse")
    search_id = vote(ledger)
    wait_until(lambda: len(backend.received) == 1)
    assert ledger.flush()
    (got,) = backend.received
    assert got.path == "/api/public/scores"
    assert got.headers["Authorization"] == "Basic " + base64.b64encode(b"pk:sk").decode()
    context = spans.finished[0].context
    assert got.body == {
        "id": str(database.value("SELECT feedback_id FROM feedback")),
        "traceId": f"{context.trace_id:032x}",
        "observationId": f"{context.span_id:016x}",
        "name": "relevance",
        "dataType": "NUMERIC",
        "value": 2 / 3,
        "metadata": {"search_id": str(search_id), "rank": 2, "label": "relevant"},
    }


def test_by_default_nothing_is_sent_and_nobody_is_started(
    make_ledger: MakeLedger, spans: Spans, backend: Backend
) -> None:
    before = set(threading.enumerate())
    vote(make_ledger(tracer_provider=spans.provider))
    assert backend.received == []
    assert "ragledger-push" not in {thread.name for thread in set(threading.enumerate()) - before}


def test_p9_nothing_of_the_voter_and_no_text_is_sent(
    make_ledger: MakeLedger, spans: Spans, backend: Backend
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix, langfuse")
    with ledger.search(corpus="ZEBRACORPUS", session_id="ZEBRASESSION") as search:
        search.tell(query="ZEBRAQUERY", chunks=["ZEBRACHUNK"])
        search.candidates(Candidate("ZEBRAID", "ZEBRADOC"))
    ledger.vote(search.receipt.search_id, "ZEBRAID", "relevant", actor="human:ZEBRANAME")
    wait_until(lambda: len(backend.received) == 2)
    assert "ZEBRA" not in repr(backend.received)


def test_p3_a_backend_that_refuses_is_counted_and_the_vote_is_kept(
    make_ledger: MakeLedger,
    spans: Spans,
    backend: Backend,
    database: Database,
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend.status = 500
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix,langfuse", strict=False)
    vote(ledger)
    wait_until(lambda: ledger.guard.faults == {"push:langfuse": 1, "push:phoenix": 1})
    assert ledger.flush()
    assert database.value("SELECT count(*) FROM feedback") == 1
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert backend.url not in caplog.text


def test_p3_a_backend_that_is_away_is_counted(
    make_ledger: MakeLedger, spans: Spans, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", "http://127.0.0.1:9")
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix", strict=False)
    vote(ledger)
    wait_until(lambda: ledger.guard.faults == {"push:phoenix": 1})


def test_p4_a_backend_that_hangs_holds_up_no_vote_and_what_does_not_fit_is_counted(
    make_ledger: MakeLedger, spans: Spans, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAITING", 3)
    monkeypatch.setattr(module, "_TIMEOUT_S", 120.0)
    backend.open.clear()
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix", strict=False)
    for _ in range(6):  # one is being sent at most, three wait
        vote(ledger)
    assert ledger.guard.faults["push:full"] >= 2
    backend.open.set()
    wait_until(lambda: len(backend.received) + ledger.guard.faults["push:full"] == 6)


def test_closing_sends_what_waits(make_ledger: MakeLedger, spans: Spans, backend: Backend) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix")
    for _ in range(5):
        vote(ledger)
    ledger.close()
    wait_until(lambda: len(backend.received) == 5)


def test_p4_closing_does_not_wait_for_a_backend_that_hangs(
    make_ledger: MakeLedger, spans: Spans, backend: Backend
) -> None:
    backend.open.clear()
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix", strict=False)
    vote(ledger)
    ledger.close()  # the timeout of the test is far above the second that it waits
    assert backend.received == []


def test_a_vote_on_a_search_that_was_not_sampled_is_not_sent(
    make_ledger: MakeLedger, spans: Spans, backend: Backend
) -> None:
    vote(make_ledger(tracer_provider=TracerProvider(sampler=ALWAYS_OFF), push="phoenix", name="unsampled"))
    vote(make_ledger(tracer_provider=spans.provider, push="phoenix"))
    wait_until(lambda: len(backend.received) == 1)
    assert backend.received[0].body["data"][0]["span_id"] == f"{spans.finished[0].context.span_id:016x}"


def test_our_requests_make_no_spans(
    make_ledger: MakeLedger, spans: Spans, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instrumentation of urllib asks the same question."""
    enabled: list[bool] = []
    plain = module.urllib.request.urlopen

    def watched(*args: Any, **given: Any) -> Any:
        enabled.append(is_instrumentation_enabled())
        return plain(*args, **given)

    monkeypatch.setattr(module.urllib.request, "urlopen", watched)
    vote(make_ledger(tracer_provider=spans.provider, push="phoenix"))
    wait_until(lambda: len(backend.received) == 1)
    assert enabled == [False]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # since Python 3.12
def test_d35_a_forked_child_sends_its_own(make_ledger: MakeLedger, spans: Spans, backend: Backend) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix", strict=False)
    vote(ledger)
    wait_until(lambda: len(backend.received) == 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            vote(ledger)
            ledger.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    wait_until(lambda: len(backend.received) == 2)


@pytest.mark.parametrize(
    ("push", "missing", "said"),
    [
        ("phoenix", "PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_COLLECTOR_ENDPOINT"),
        ("langfuse", "LANGFUSE_HOST", "LANGFUSE_HOST"),
        ("langfuse", "LANGFUSE_SECRET_KEY", "LANGFUSE_SECRET_KEY"),
        ("datadog", "", "langfuse and phoenix"),
    ],
)
def test_what_is_missing_is_said_when_the_ledger_is_opened(
    make_ledger: MakeLedger,
    backend: Backend,
    monkeypatch: pytest.MonkeyPatch,
    push: str,
    missing: str,
    said: str,
) -> None:
    monkeypatch.delenv(missing, raising=False)
    with pytest.raises(ConfigError, match=said):
        make_ledger(push=push)


def test_an_address_of_another_scheme_is_refused(
    make_ledger: MakeLedger, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", "file:///etc/passwd")
    with pytest.raises(ConfigError, match="http"):
        make_ledger(push="phoenix")
