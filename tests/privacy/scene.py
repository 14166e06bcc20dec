"""A ledger in use, and everything that it and the program write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fix_otlp import Receiver
from fix_pg import Database
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from privacy.canaries import dump, files, found_in

from ragledger import Ledger
from ragledger.http import asgi_app

OURS = ("ragledger", "psycopg", "opentelemetry")
"""Loggers that we answer for. The frameworks log texts at DEBUG themselves."""


class Scene:
    """A ledger that ships when told, and everything that it and the program write."""

    def __init__(
        self,
        ledger: Ledger,
        database: Database,
        otlp: Receiver,
        state: Path,
        run: Callable[..., str],
        meters: InMemoryMetricReader,
    ) -> None:
        self.ledger = ledger
        self.meters = meters
        self.run = run
        self.database = database
        self.otlp = otlp
        self.state = state
        self.written: list[tuple[str, bytes | str]] = []

    def look(self, caplog: pytest.LogCaptureFixture) -> None:
        """Takes the journal as it is now, full; then ships it and takes the rest."""
        journal = list(files(self.state))
        assert any(name.endswith(".seg") for name, _ in journal)
        self.written += journal
        for command in (
            ["ship"],
            ["tail"],
            ["measure", "--json"],
            ["measure", "--markdown"],
            ["doctor"],
            ["ship", "--json"],
        ):
            self.written.append((" ".join(command), self.run(*command)))
        self.written += files(self.state)
        self.written.append(("database", dump(self.database)))
        assert self.otlp.bodies
        self.written += [("otlp", body) for body in self.otlp.bodies]
        measured = self.meters.get_metrics_data()
        assert measured is not None
        self.written.append(("metrics", measured.to_json()))
        self.written += [
            (f"process {name}", Path("/proc/self", name).read_bytes()) for name in ("cmdline", "comm")
        ]
        self.written += [("facts", repr(self.ledger.facts())), ("repr", repr(self.ledger))]
        self.written += [
            (f"log {record.name}", f"{record.getMessage()} {record.exc_info} {record.__dict__}")
            for record in caplog.records
            if record.name.startswith(OURS)
        ]

    @property
    def leaks(self) -> set[tuple[str, str]]:
        """(place, canary)"""
        return {(place, canary) for place, data in self.written for canary in found_in(data)}


async def asked(ledger: Ledger, path: str) -> str:
    """What the application says over HTTP."""
    transport = httpx.ASGITransport(app=asgi_app(ledger))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        response = await http.get(path)
    assert response.status_code == 200
    return response.text
