"""Metrics of the collector on a real wire: OTLP by HTTP and gRPC, and a page for Prometheus. A pass waits for nobody."""

from __future__ import annotations

import os
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import psycopg
import pytest
from collector_world import arrive, collect
from fix_otlp import Receiver, attributes_of
from fix_pg import Database
from integration.shipping import wait_until
from measures.table_rows import TableRows, hit
from prometheus_client.parser import text_string_to_metric_families

from ragledger.errors import ConfigError
from ragledger_collector.meters import Board
from ragledger_collector.outlets import Outlets, _resource
from ragledger_collector.points import Point
from ragledger_collector.scrape import address


@contextmanager
def outlets(**options: Any) -> Iterator[tuple[Outlets, list[str]]]:
    """Outlets, and the lines that they told."""
    lines: list[str] = []
    made = Outlets(**{"environment": {}, **options}, tell=lines.append)
    try:
        yield made, lines
    finally:
        made.close()


@pytest.fixture
def counted(database: Database) -> Database:
    """Two searches of now, one of them judged, in the rollups."""
    rows = TableRows()
    first = rows.search(hit(), started_at=datetime.now(timezone.utc))
    rows.vote(first, 1, "relevant")
    rows.search(admitted_count=0, started_at=datetime.now(timezone.utc))
    with database.connect() as connection:
        arrive(connection, rows)
    collect(database)
    return database


def pass_over(made: Outlets, connection: psycopg.Connection[Any]) -> None:
    made.work()
    made.passed(connection, began=made.board._clock())


def numbers(receiver: Receiver, name: str) -> dict[tuple[str, ...], float]:
    """The latest points of a metric by their attributes."""
    metric = [metric for metric in receiver.metrics if metric.name == name][-1]
    points = getattr(metric, metric.WhichOneof("data")).data_points
    return {
        tuple(sorted(str(value) for value in attributes_of(point).values())): getattr(
            point, point.WhichOneof("value")
        )
        for point in points
    }


@pytest.mark.pg
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_pass_is_pushed(counted: Database, otlp: Receiver, protocol: str) -> None:
    base = (
        otlp.http_endpoint.removesuffix("/v1/traces") if protocol == "http/protobuf" else otlp.grpc_endpoint
    )
    environment = {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    with (
        outlets(otlp=True, endpoint=base, environment=environment) as (made, lines),
        counted.connect(role="ragledger_collector") as connection,
    ):
        pass_over(made, connection)
        wait_until(lambda: any(metric.name == "ragledger.precision" for metric in otlp.metrics))
    by_name = {metric.name: metric for metric in otlp.metrics}
    assert numbers(otlp, "ragledger.searches")["1h", "default", "ok", "study"] == 2
    assert numbers(otlp, "ragledger.hit_rate") == {
        ("1h", "default", "study"): 0.5,
        ("7d", "default", "study"): 0.5,
    }
    assert numbers(otlp, "ragledger.precision")["1", "7d", "default", "human", "study"] == 1.0
    assert "ragledger.precision.low" not in by_name  # one search has no interval
    assert numbers(otlp, "ragledger.table.records") == {
        ("p", "written"): 3, ("p", "refused"): 0, ("p", "rejected"): 0, ("expired_vote", "p"): 0
    }  # fmt: skip
    assert by_name["ragledger.table.records"].sum.is_monotonic
    assert by_name["ragledger.searches"].unit == "{search}"
    assert by_name["ragledger.hit_rate"].unit == "1"
    assert numbers(otlp, "ragledger.collector.backlog") == {(): 0}
    assert numbers(otlp, "ragledger.collector.failed_exports") == {(): 0}
    assert numbers(otlp, "ragledger.collector.lag")[()] >= 0
    assert lines == []


@contextmanager
def silent_listener() -> Iterator[tuple[int, list[socket.socket]]]:
    """Takes connections and never answers."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield server.getsockname()[1], taken
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for one in taken:
                one.close()


@pytest.mark.pg
@pytest.mark.processes  # closing waits as long as an export may take
def test_an_endpoint_that_never_answers_holds_up_no_pass(
    counted: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "120")
    with (
        silent_listener() as (port, taken),
        outlets(otlp=True, endpoint=f"http://127.0.0.1:{port}", environment=os.environ) as (made, lines),
        counted.connect(role="ragledger_collector") as connection,
    ):
        assert made.push is not None
        pass_over(made, connection)
        wait_until(lambda: taken)
        for _ in range(20):
            pass_over(made, connection)
        # All of them ended while the first export still waits for its answer.
        assert (len(taken), made.push.failures, lines) == (1, 0, [])
        taken[0].close()


@pytest.mark.pg
def test_an_endpoint_that_is_away_is_said_once_and_counted_and_found_again(
    counted: Database, otlp: Receiver
) -> None:
    where = otlp.http_endpoint.removesuffix("/v1/traces")
    answers = otlp.refuse_metrics()
    with (
        outlets(otlp=True, endpoint=where) as (made, lines),
        counted.connect(role="ragledger_collector") as connection,
    ):
        assert made.push is not None
        for failures in (1, 2, 3):
            pass_over(made, connection)
            wait_until(lambda: made.push.failures >= failures)  # noqa: B023
        assert lines == ["nobody takes metrics at the OTLP endpoint; passes go on without"]
        answers.clear()
        pass_over(made, connection)
        wait_until(lambda: otlp.metrics)
        wait_until(lambda: len(lines) == 2)
    assert lines[1:] == ["metrics are taken again"]
    assert numbers(otlp, "ragledger.collector.failed_exports") == {(): made.push.failures}


@pytest.mark.pg
def test_p8_when_a_pass_fails_only_the_lag_is_left(counted: Database) -> None:
    with (
        outlets(prometheus="0", every_s=15.0) as (made, _),
        counted.connect(role="ragledger_collector") as connection,
    ):
        assert page(made) == {}
        pass_over(made, connection)
        before = page(made)
        assert before["ragledger_searches", "1h", "default", "ok", "study"] == 2
        made.failed()
        assert {name for name, *_ in page(made)} == {
            *("ragledger_collector_lag_seconds", "ragledger_collector_failed_exports_total"),
            "ragledger_collector_interval_seconds",
        }
        assert page(made)["ragledger_collector_interval_seconds",] == 15
        pass_over(made, connection)
        assert page(made).keys() == before.keys()
        made.rest()
        assert page(made) == {}


@pytest.mark.pg
def test_readings_that_cannot_be_read_are_absent_and_said_once(counted: Database) -> None:
    with (
        outlets(prometheus="0") as (made, lines),
        counted.connect(role="ragledger_collector") as connection,
        counted.connect() as owner,
    ):
        owner.execute("REVOKE SELECT ON rejected FROM ragledger_collector")
        for _ in range(3):
            pass_over(made, connection)
        assert lines == ["no readings (the database gave up on a query (InsufficientPrivilege))"]
        assert {name for name, *_ in page(made)} == {
            *("ragledger_collector_lag_seconds", "ragledger_collector_failed_exports_total")
        }
        owner.execute("GRANT SELECT ON rejected TO ragledger_collector")
        pass_over(made, connection)
        assert page(made)["ragledger_collector_backlog",] == 0


@pytest.mark.pg
def test_a_defect_of_readings_does_not_stop_the_collector(counted: Database) -> None:
    with (
        outlets(prometheus="0") as (made, lines),
        counted.connect(role="ragledger_collector") as connection,
        counted.connect() as owner,
    ):
        # More than was judged cannot be useful: no interval has a word for it.
        owner.execute("UPDATE rollup_judged SET useful = 'NaN'")
        owner.execute("UPDATE rollup_searches SET found = 1000000")
        pass_over(made, connection)
        assert lines == ["no readings (ValueError)"]
        assert ("ragledger_collector_lag_seconds",) in page(made)


def page(made: Outlets) -> dict[tuple[str, ...], float]:
    """What Prometheus would read, by name and labels; `target_info` is left out."""
    assert made.scrape is not None
    with urllib.request.urlopen(f"http://127.0.0.1:{made.scrape.port}/metrics", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return {
        (sample.name, *sorted(value for value in sample.labels.values() if value)): sample.value
        for family in families
        for sample in family.samples
        if sample.name != "target_info"
    }


def test_the_lag_is_that_of_the_last_pass_that_ended() -> None:
    now = [100.0]
    board = Board(clock=lambda: now[0])
    assert (board.silent, board.lag_s()) == (True, None)
    board.work()
    now[0] = 130.0
    assert board.lag_s() == 30.0
    board.passed(120.0)
    board.work()  # a new connection of the same collector forgets nothing
    assert (board.silent, board.lag_s()) == (False, 10.0)
    board.show([Point("a", 1, {}), Point("b", 2, {}), Point("a", 3, {"x": "y"})])
    assert [point.value for point in board.of("a")] == [1, 3]
    board.show([])
    assert board.of("a") == []
    board.rest()
    assert (board.silent, board.lag_s()) == (True, None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:9464", ("0.0.0.0", 9464)),
        ("[::1]:9464", ("::1", 9464)),
        ("collector:9464", ("collector", 9464)),
    ],
)
def test_a_port_alone_is_on_loopback(text: str, found: tuple[str, int]) -> None:
    assert address(text) == found


@pytest.mark.parametrize("text", ["", "host", "host:", "host:http", "::1:9464", "1:65536", "host:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        address(text)


def test_a_port_that_is_taken_is_one_line() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ConfigError, match="in use"),
        outlets(prometheus=str(taken.getsockname()[1])),
    ):
        pass


def test_without_a_name_it_is_called_by_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    assert _resource().attributes["service.name"] == "ragledger-collector"
    assert _resource().attributes["deployment.environment.name"] == "test"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    assert _resource().attributes["service.name"] == "ours"


def test_a_protocol_that_nobody_speaks_is_refused() -> None:
    with (
        pytest.raises(ConfigError, match="http/json"),
        outlets(otlp=True, environment={"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"}),
    ):
        pass
