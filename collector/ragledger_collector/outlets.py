"""Where the collector's readings go: pushed by OTLP, served to Prometheus, or both; all of it beside the passes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import SERVICE_NAME, Resource

from ragledger.errors import RagledgerError
from ragledger.postgres.connection import Connection, translated

from .meters import Board, instrument
from .points import Point, points_of
from .readings import Readings, read, read_waiting

if TYPE_CHECKING:
    from .otlp import Push
    from .scrape import Scrape

__all__ = ["Outlets"]

_NAME = "ragledger-collector"


class Outlets:
    """What a running collector tells about itself and about the rollups."""

    def __init__(
        self,
        *,
        otlp: bool = False,
        endpoint: str | None = None,
        prometheus: str | None = None,
        every_s: float | None = None,
        environment: Mapping[str, str],
        tell: Callable[[str], None],
    ) -> None:
        self._tell = tell
        self._unread = False
        self.board = Board(every_s)
        self.push: Push | None = None
        self.scrape: Scrape | None = None
        if otlp:
            from .otlp import Push

            self.push = Push(endpoint, environment, tell=tell, silent=lambda: self.board.silent)
        if prometheus is not None:
            from .scrape import Scrape

            self.scrape = Scrape(prometheus)
        self._start()

    def _start(self) -> None:
        readers = [outlet.reader for outlet in (self.push, self.scrape) if outlet is not None]
        self._provider = MeterProvider(metric_readers=readers, resource=_resource(), shutdown_on_exit=False)
        instrument(self._provider, self.board, lambda: self.push.failures if self.push is not None else 0)
        if self.scrape is not None:
            self.scrape.start()
        if self.push is not None:
            self.push.start()

    def work(self) -> None:
        """This process is the collector now."""
        self.board.work()

    def passed(self, connection: Connection, began: float) -> None:
        """A pass has ended. Readings that cannot be read cost nothing but themselves: they are absent, not old."""
        self.board.passed(began)
        self._tell_of(lambda: read(connection, datetime.now(timezone.utc)), self.board.show)

    def going_on(self, connection: Connection) -> None:
        """A pass goes on: what it has still to do is read. What searches came to is told when it has ended."""
        self._tell_of(lambda: read_waiting(connection), self.board.renew)

    def _tell_of(self, readings: Callable[[], Readings], show: Callable[[Iterable[Point]], None]) -> None:
        try:
            with translated():
                show(points_of(readings()))
            self._unread = False
        except Exception as exc:  # noqa: BLE001  a fault of readings must not stop the collector
            self.board.show(())
            if not self._unread:
                self._unread = True
                self._tell(f"no readings ({exc if isinstance(exc, RagledgerError) else type(exc).__name__})")
        self._ask()

    def failed(self) -> None:
        """A pass has failed: what was read before is old by now. How far behind the collector is goes on."""
        self.board.show(())
        self._ask()

    def rest(self) -> None:
        """Another collector is at work."""
        self.board.rest()

    def close(self) -> None:
        """Ends both, after what is left was pushed or the time for it is over."""
        if self.push is not None:
            self.push.close()
        if self.scrape is not None:
            self.scrape.close()
        with contextlib.suppress(Exception):  # what an SDK makes of its end must not change ours
            self._provider.shutdown()

    def _ask(self) -> None:
        if self.push is not None:
            self.push.ask()


def _resource() -> Resource:
    """What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say; without a name, ours."""
    found = Resource.create()
    if str(found.attributes[SERVICE_NAME]).startswith("unknown_service"):
        return found.merge(Resource({SERVICE_NAME: _NAME}))
    return found
