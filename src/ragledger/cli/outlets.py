"""Where `ragledger collect` tells its readings, as its options say; OpenTelemetry is loaded only for those who ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Optional, Protocol

import typer

from ragledger.errors import ConfigError

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection

__all__ = ["EndpointOption", "OtlpOption", "Outlets", "PrometheusOption", "outlets_of"]

OtlpOption = Annotated[
    bool,
    typer.Option("--otlp", help="Push metrics after each pass, to where OTEL_EXPORTER_OTLP_ENDPOINT says."),
]
EndpointOption = Annotated[
    Optional[str],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option("--otlp-endpoint", help="Push them there, such as http://localhost:4318."),
]
PrometheusOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--prometheus", help="Serve them to Prometheus: a port of this host, or HOST:PORT."),
]


class Outlets(Protocol):
    """Who hears what the collector does. Never raises for a listener that is away."""

    def work(self) -> None:
        """This process is the collector."""
        ...

    def passed(self, connection: Connection, began: float) -> None:
        """A pass has ended that began then, by the monotonic clock."""
        ...

    def going_on(self, connection: Connection) -> None:
        """A pass takes long, and is between two transactions of the connection."""
        ...

    def failed(self) -> None:
        """A pass has failed."""
        ...

    def rest(self) -> None:
        """Another process is the collector."""
        ...


class _Nowhere:
    def work(self) -> None: ...

    def passed(self, connection: Connection, began: float) -> None: ...

    def going_on(self, connection: Connection) -> None: ...

    def failed(self) -> None: ...

    def rest(self) -> None: ...


@contextmanager
def outlets_of(
    *, otlp: bool, endpoint: str | None, prometheus: str | None, every_s: float | None = None
) -> Iterator[Outlets]:
    """Those of the options; with `every_s` they also tell how often passes begin.

    Raises:
        ConfigError: one cannot be had, or the extra is not installed.
    """
    if not otlp and endpoint is None and prometheus is None:
        yield _Nowhere()
        return
    try:
        from ragledger_collector.outlets import Outlets as Real

        outlets = Real(
            otlp=otlp or endpoint is not None,
            endpoint=endpoint,
            prometheus=prometheus,
            every_s=every_s,
            environment=os.environ,
            tell=lambda line: typer.echo(f"ragledger collect: {line}", err=True),
        )
    except ImportError as exc:
        raise ConfigError(f"metrics need {exc.name}: pip install 'ragledger[collector]'") from None
    try:
        yield outlets
    finally:
        outlets.close()
