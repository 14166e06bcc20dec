"""`ragledger ship --follow` exports what it ships, where its process has an SDK."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from fix_otlp import Receiver
from fix_pg import Database
from integration.shipping import wait_until

from ragledger import Ledger

pytestmark = pytest.mark.pg

_SIDECAR = """
import sys
from opentelemetry import metrics
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=sys.argv.pop()), export_interval_millis=100)
metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
from ragledger.cli import main
main()
"""


def _values(otlp: Receiver, name: str) -> list[Any]:
    return [
        point.as_int or point.as_double
        for metric in list(otlp.metrics)
        if metric.name == name
        for point in (metric.sum.data_points or metric.gauge.data_points)
    ]


def test_the_sidecar_says_what_it_ships(
    make_ledger: Callable[..., Ledger], database: Database, otlp: Receiver
) -> None:
    ledger = make_ledger(ship="sidecar")
    for _ in range(3):
        with ledger.search() as found:
            found.candidates()
    sidecar = subprocess.Popen(
        [sys.executable, "-c", _SIDECAR, "ship", "--follow", "--nice", "0", otlp.http_metrics_endpoint],
        env=os.environ | {"RAGLEDGER_DSN": database.dsn},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: 3 in _values(otlp, "ragledger.rows"))
        wait_until(lambda: any(metric.name == "ragledger.ship.duration" for metric in list(otlp.metrics)))
        assert database.value("SELECT count(*) FROM searches") == 3
    finally:
        sidecar.send_signal(signal.SIGTERM)
        _, complaints = sidecar.communicate(timeout=60)
    assert sidecar.returncode == 0, complaints
