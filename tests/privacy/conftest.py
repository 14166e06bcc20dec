from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_otlp import Receiver
from fix_pg import Database
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from privacy.scene import Scene

from ragledger import Ledger
from ragledger.cli import main


@pytest.fixture
def make_scene(
    make_ledger: Callable[..., Ledger],
    database: Database,
    otlp: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Iterator[Callable[..., Scene]]:
    """With the settings of the test: a ledger that ships when told, with spans and metrics going out."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=otlp.http_endpoint)))
    meters = InMemoryMetricReader()
    measured = MeterProvider(metric_readers=[meters])

    def run(*args: str) -> str:
        monkeypatch.setattr(sys, "argv", ["ragledger", *args])
        with pytest.raises(SystemExit):
            main()
        captured = capsys.readouterr()
        return captured.out + captured.err

    def make(**settings: Any) -> Scene:
        ledger = make_ledger(
            ship="sidecar", tracer_provider=provider, meter_provider=measured, strict=False, **settings
        )
        return Scene(ledger, database, otlp, tmp_path, run, meters)

    yield make
    provider.shutdown()
    measured.shutdown()
