"""Votes sent to Phoenix and Langfuse, as a real server receives them; and every way in which that can fail."""

from __future__ import annotations

import base64
import json
import logging
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from fix_pg import Database
from fix_spans import Spans
from integration.shipping import wait_until
from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider

from ragledger import Candidate, ConfigError, Ledger
from ragledger import push as module
from ragledger.annotations import Annotation
from ragledger.guard import Guard
from ragledger.ports import TraceIds
from ragledger.push import Push, targets_from

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
        self.headers: dict[str, str] = {}
        self.open = threading.Event()
        self.open.set()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                backend.open.wait(60)
                backend.received.append(Received(self.path, dict(self.headers), body))
                self.send_response(backend.status)
                for name, value in backend.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                backend.received.append(Received(self.path, dict(self.headers), None))
                self.send_response(200)
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


def annotation() -> Annotation:
    return Annotation(
        TraceIds(b"1" * 16, b"2" * 8, True, "ours"), uuid4(), uuid4(), 1, "relevant", 2 / 3, True
    )


def _nowhere() -> urllib.request.Request:
    return urllib.request.Request("http://127.0.0.1:9")


def vote(ledger: Ledger, chunk_id: str = "b", actor: str = "human:ana") -> Any:
    with ledger.search() as search:
        search.candidates(Candidate("a"), Candidate("b"))
    assert ledger.vote(search.receipt.search_id, chunk_id, "relevant", actor=actor).status == "journalled"
    return search.receipt.search_id


def pushing(before: set[threading.Thread]) -> list[threading.Thread]:
    return [
        thread for thread in set(threading.enumerate()) - before if thread.name.startswith("ragledger-push")
    ]


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
    quiet = make_ledger(tracer_provider=spans.provider, name="quiet")
    before = set(threading.enumerate())
    vote(quiet)
    assert not pushing(before)
    # The same, where it is configured: so are the thread and the request known.
    vote(make_ledger(tracer_provider=spans.provider, push="phoenix"))
    wait_until(lambda: len(backend.received) == 1)
    assert len(pushing(before)) == 1
    assert backend.received[0].body["data"][0]["span_id"] == f"{spans.finished[1].context.span_id:016x}"


def test_p9_nothing_of_the_voter_and_no_text_is_sent(
    make_ledger: MakeLedger, spans: Spans, backend: Backend
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix, langfuse")
    with ledger.search(corpus="ZEBRACORPUS", session_id="ZEBRASESSION") as search:
        search.tell(query="ZEBRAQUERY", chunks=["ZEBRACHUNK"])
        search.candidates(Candidate("ZEBRAID", "ZEBRADOC"))
    ledger.vote(search.receipt.search_id, "ZEBRAID", "relevant", actor="human:ZEBRANAME")
    wait_until(lambda: len(backend.received) == 2)
    assert {got.path for got in backend.received} == {"/v1/span_annotations", "/api/public/scores"}
    assert str(search.receipt.search_id) in repr(backend.received)
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
    full = ledger.guard.faults["push:full"]
    assert full <= 3
    assert backend.received == []
    backend.open.set()
    wait_until(lambda: len(backend.received) == 6 - full)
    assert ledger.guard.faults == {"push:full": full}


def test_closing_sends_what_waits(make_ledger: MakeLedger, spans: Spans, backend: Backend) -> None:
    ledger = make_ledger(tracer_provider=spans.provider, push="phoenix")
    for _ in range(5):
        vote(ledger)
    ledger.close()
    wait_until(lambda: len(backend.received) + ledger.guard.faults.get("push:left", 0) == 5)


def test_closing_waits_for_its_thread_which_ends() -> None:
    """Without a ledger around it: the time to close is given."""
    before, sent, guard = set(threading.enumerate()), [], Guard()
    push = Push({"here": lambda annotation: sent.append(annotation) or _nowhere()}, guard)
    for _ in range(5):
        push(annotation())
    push.close(60)
    assert len(sent) == 5
    assert pushing(before) == []
    assert guard.faults == {"push:here": 5}


def test_p4_closing_does_not_wait_for_a_backend_that_hangs(backend: Backend) -> None:
    backend.open.clear()
    before, guard = set(threading.enumerate()), Guard()
    push = Push(targets_from(["phoenix"], {"PHOENIX_COLLECTOR_ENDPOINT": backend.url}), guard)
    for _ in range(1100):
        push(annotation())
    [thread] = pushing(before)
    push.close(0.1)
    assert backend.received == []
    full = guard.faults["push:full"]
    assert 1100 - full - guard.faults["push:left"] in {0, 1}  # one may be on its way
    backend.open.set()
    thread.join(60)
    assert not thread.is_alive()
    assert len(backend.received) <= 1


@pytest.mark.parametrize("status", [301, 302, 303, 307])
def test_a_redirect_is_a_failure_and_the_key_goes_nowhere_else(backend: Backend, status: int) -> None:
    elsewhere = Backend()
    try:
        backend.status, backend.headers = status, {"Location": elsewhere.url + "/login"}
        environ = {"PHOENIX_COLLECTOR_ENDPOINT": backend.url, "PHOENIX_API_KEY": "secret"}
        guard = Guard()
        push = Push(targets_from(["phoenix"], environ), guard)
        push(annotation())
        push.close(60)
        assert len(backend.received) == 1
        assert elsewhere.received == []
        assert guard.faults == {"push:phoenix": 1}
    finally:
        elsewhere.close()


def test_a_vote_on_a_search_that_has_no_span_is_not_sent(
    make_ledger: MakeLedger, spans: Spans, backend: Backend
) -> None:
    """Its row has the ids of the request around it."""
    around = spans.provider.get_tracer("app").start_as_current_span("request")
    with around:
        silent = make_ledger(tracer_provider=NoOpTracerProvider(), push="phoenix", name="silent")
        vote(silent)
    vote(make_ledger(tracer_provider=spans.provider, push="phoenix"))
    wait_until(lambda: len(backend.received) == 1)
    assert silent.flush()
    assert backend.received[0].body["data"][0]["span_id"] == f"{spans.finished[-1].context.span_id:016x}"


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
    plain = module._opener.open

    def watched(*args: Any, **given: Any) -> Any:
        enabled.append(is_instrumentation_enabled())
        return plain(*args, **given)

    monkeypatch.setattr(module._opener, "open", watched)
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
