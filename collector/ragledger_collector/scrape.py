"""The same metrics as a page for Prometheus, by the SDK's own exporter, so that names are those that a Collector gives them."""

from __future__ import annotations

from wsgiref.simple_server import WSGIServer

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics.export import MetricReader
from prometheus_client import CollectorRegistry, start_http_server

from ragledger.errors import ConfigError

__all__ = ["Scrape", "address"]

_LOOPBACK = "127.0.0.1"
_LAST_PORT = 65_535


class Scrape:
    """Serves `/metrics` on a thread of its own."""

    def __init__(self, at: str) -> None:
        self._registry = (
            CollectorRegistry()
        )  # of its own: the default one also holds what a Python process is made of
        self.reader: MetricReader = PrometheusMetricReader(registry=self._registry, scope_info_enabled=False)
        self.host, self.port = address(at)
        self._server: WSGIServer | None = None

    def start(self) -> None:
        """From here on it answers.

        Raises:
            ConfigError: the address cannot be had.
        """
        try:
            self._server, self._thread = start_http_server(self.port, self.host, self._registry)
        except OSError as exc:
            raise ConfigError(f"--prometheus {self.host}:{self.port}: {exc.strerror}") from None
        self.port = self._server.server_port

    def close(self) -> None:
        """Ends the server."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


def address(at: str) -> tuple[str, int]:
    """`9464` (on loopback), `0.0.0.0:9464` or `[::1]:9464`.

    Raises:
        ConfigError: it is none of them.
    """
    host, _, port = at.rpartition(":")
    if not port.isdigit() or int(port) > _LAST_PORT or (":" in host and not host.startswith("[")):
        raise ConfigError(f"--prometheus {at!r} is no address; say 9464 or HOST:9464")
    return host.strip("[]") or _LOOPBACK, int(port)
