"""`ragledger collect` with its metrics: by OTLP with --once, and scraped by a real Prometheus that has our alert rules."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import Result
from collector_world import arrive
from fix_otlp import Receiver
from fix_pg import Database
from integration.shipping import RAGLEDGER, wait_until
from measures.table_rows import TableRows, hit
from typer.testing import CliRunner

from ragledger.cli.app import app

pytestmark = pytest.mark.pg

ALERTS = Path(__file__).parents[2] / "collector/alerts.yml"


@pytest.fixture
def filled(database: Database) -> Database:
    rows = TableRows()
    rows.search(hit(), started_at=datetime.now(timezone.utc))
    with database.connect() as connection:
        arrive(connection, rows)
    return database


def once(database: Database, *options: str) -> Result:
    return CliRunner().invoke(app, ["collect", "--once", "--dsn", database.dsn, *options])


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_once_pushes_before_it_leaves(
    filled: Database, otlp: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.http_endpoint.removesuffix("/v1/traces"))
    done = once(filled, "--otlp")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "1 record(s) looked at" in done.stdout
    assert "ragledger.hit_rate" in {metric.name for metric in otlp.metrics}


def test_nobody_who_takes_metrics_changes_no_exit_code(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    done = once(filled, "--otlp-endpoint", f"http://127.0.0.1:{closed_port()}")
    assert done.exit_code == 0
    assert "1 record(s) looked at" in done.stdout
    assert done.stderr == (
        "ragledger collect: nobody takes metrics at the OTLP endpoint; passes go on without\n"
    )
    assert filled.value("SELECT sum(searches) FROM rollup_searches WHERE grain = 'day'") == 1


def test_a_page_needs_somebody_who_stays(filled: Database) -> None:
    assert "--prometheus needs --every" in str(once(filled, "--prometheus", "0").exception)


def test_without_the_extra_it_says_what_to_install(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ragledger_collector.outlets", "ragledger_collector.otlp"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics.export", None)
    done = once(filled, "--otlp")
    assert "pip install 'ragledger[collector]'" in str(done.exception)
    assert filled.value("SELECT count(*) FROM rollup_searches") == 0


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def asked(port: int, path: str) -> Any:
    """An answer of Prometheus; None while it is not there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return json.loads(answer.read())["data"]
    except OSError:
        return None


def series(port: int, query: str) -> dict[tuple[str, ...], float]:
    found = asked(port, "/api/v1/query?" + urlencode({"query": query}))
    return {
        tuple(sorted(value for name, value in one["metric"].items() if name.startswith("ragledger"))): float(
            one["value"][1]
        )
        for one in (found or {"result": []})["result"]
    }


@pytest.mark.processes
@pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="no Prometheus here (apt-get install prometheus)"
)
def test_a_real_prometheus_scrapes_it_and_evaluates_our_rules(filled: Database) -> None:
    ours, theirs = closed_port(), closed_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "prometheus.yml")
        config.write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{ALERTS}]\n"
            "scrape_configs:\n"
            "  - job_name: ragledger\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{ours}']}}]\n"
        )
        collector = (*RAGLEDGER, "collect", "--every", "0.5s", "--dsn", filled.dsn, "--prometheus", str(ours))
        prometheus = (
            *("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data"),
            *(f"--web.listen-address=127.0.0.1:{theirs}", "--log.level=error"),
        )
        with running(*collector), running(*prometheus):
            wait_until(lambda: series(theirs, "ragledger_searches"))
            found = series(theirs, 'ragledger_searches{ragledger_status="ok"}')
            assert found == {("1h", "default", "ok", "study"): 1, ("7d", "default", "ok", "study"): 1}
            assert series(theirs, "ragledger_hit_rate")["1h", "default", "study"] == 1
            assert series(theirs, "ragledger_precision") == {}
            assert series(theirs, "ragledger_collector_backlog") == {(): 0}
            wait_until(lambda: rules(theirs) and all(rule["health"] == "ok" for rule in rules(theirs)))
            assert [rule["name"] for rule in rules(theirs) if rule["state"] == "firing"] == []


def rules(port: int) -> list[dict[str, Any]]:
    groups = (asked(port, "/api/v1/rules") or {"groups": []})["groups"]
    return [rule for group in groups for rule in group["rules"]]
