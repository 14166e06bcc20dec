"""Pushes metrics by OTLP from a thread of its own: whoever takes them, or does not, a pass of the collector never waits."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)

from ragledger.errors import ConfigError

__all__ = ["Push"]

_TIMEOUT_S = 5.0
_AT_LEAST_EVERY_S = 60.0
_PATH = "/v1/metrics"


class Push:
    """An OTLP exporter and its thread. `ask` is heard once the export at hand has ended."""

    def __init__(
        self,
        endpoint: str | None,
        environment: Mapping[str, str],
        *,
        tell: Callable[[str], None],
        silent: Callable[[], bool],
    ) -> None:
        self._exporter: Any = _exporter(endpoint, environment)  # with `last`, see there
        self.reader: MetricReader = PeriodicExportingMetricReader(
            self._exporter, export_interval_millis=math.inf
        )
        self._tell, self._silent = tell, silent
        self.failures = 0
        self._failing = False
        self._new, self._woken, self._done = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="ragledger-otlp", daemon=True)

    def start(self) -> None:
        """From here on it pushes. The reader belongs to a provider by now."""
        self._thread.start()

    def ask(self) -> None:
        """There is something new to say."""
        self._new.set()
        self._woken.set()

    def close(self) -> None:
        """Says what is left, and waits for it as long as an export may take."""
        self._done.set()
        self._woken.set()
        self._thread.join(_TIMEOUT_S + 1)

    def _run(self) -> None:
        while True:
            woken = self._woken.wait(_AT_LEAST_EVERY_S)
            self._woken.clear()  # before looking: what is asked from here on is heard in the next turn
            done, new = self._done.is_set(), self._new.is_set()
            self._new.clear()
            if (new or not woken) and not self._silent():
                self._push()
            if done:
                return

    def _push(self) -> None:
        self._exporter.last = None
        with contextlib.suppress(Exception):  # a fault of an SDK must not end the thread
            self.reader.collect()
        taken = self._exporter.last is MetricExportResult.SUCCESS
        self.failures += not taken
        if taken == self._failing:
            self._failing = not taken
            self._tell(
                "metrics are taken again"
                if taken
                else "nobody takes metrics at the OTLP endpoint; passes go on without"
            )


def _exporter(endpoint: str | None, environment: Mapping[str, str]) -> Any:
    """As the environment says (OTEL_EXPORTER_OTLP_*), and `endpoint` where it is given."""
    protocol = _first(environment, "PROTOCOL") or "http/protobuf"
    options: dict[str, Any] = {} if _first(environment, "TIMEOUT") else {"timeout": _TIMEOUT_S}
    if protocol == "http/protobuf":
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        if endpoint is not None:
            options["endpoint"] = endpoint if endpoint.endswith(_PATH) else endpoint.rstrip("/") + _PATH
        kind: type[MetricExporter] = OTLPMetricExporter
    elif protocol == "grpc":
        kind = _grpc()
        if endpoint is not None:
            options["endpoint"] = endpoint
    else:
        raise ConfigError(f"OTEL_EXPORTER_OTLP_PROTOCOL {protocol!r} is not known; say http/protobuf or grpc")
    # Their lines would come with every push, and quote what the endpoint answered; ours come once.
    for name in ("opentelemetry.exporter", "opentelemetry.sdk.metrics"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return _listening(kind)(**options)


def _grpc() -> type[MetricExporter]:
    try:
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    except ImportError:
        raise ConfigError("OTLP over gRPC needs: pip install 'ragledger[collector,otlp]'") from None
    return OTLPMetricExporter


def _listening(kind: type[MetricExporter]) -> Any:
    """The same exporter; what its last export came to is kept, because no reader hands it on."""

    class Listening(kind):  # type: ignore[misc, valid-type]
        last: MetricExportResult | None = None

        def export(self, metrics_data: MetricsData, *args: Any, **options: Any) -> MetricExportResult:
            self.last = super().export(metrics_data, *args, **options)
            return self.last

    return Listening


def _first(environment: Mapping[str, str], name: str) -> str | None:
    for prefix in ("OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_"):
        if found := environment.get(prefix + name, "").strip():
            return found
    return None
