from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("starlette")

import httpx

from ragledger import Ledger
from ragledger.http import asgi_app, read_tokens


@pytest.fixture
def client(ledger: Ledger) -> Callable[..., httpx.AsyncClient]:
    """A client of the application, by default from this host and without tokens."""

    def make(
        *, tokens: str = "", peer: str = "127.0.0.1", host: str = "127.0.0.1", **options: Any
    ) -> httpx.AsyncClient:
        app = asgi_app(ledger, tokens=read_tokens(tokens), **options)
        transport = httpx.ASGITransport(app=app, client=(peer, 1))
        return httpx.AsyncClient(transport=transport, base_url=f"http://{host}")

    return make
