"""Whatever a body holds, the answer is one of ours, repeats nothing of it, and no fault is counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragledger.http import asgi_app
from ragledger.ids import new_id
from ragledger.testing import memory_ledger

CANARY = "zebra"
texts = st.text(max_size=30) | st.sampled_from(
    [CANARY, "\0", "\ud800", "x" * 600, str(new_id()), "human:ana", "relevant"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["search_id", "chunk_id", "rank", "outcome", "actor", CANARY])
bodies = st.binary(max_size=200) | st.dictionaries(names, values).map(
    lambda body: json.dumps(body).encode("utf-8", "replace")
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies, path=st.sampled_from(["/v1/feedback", "/v1/accessed"]))
def test_no_body_makes_a_fault(body: bytes, path: str) -> None:
    with memory_ledger() as ledger:
        response = asyncio.run(post(ledger, path, body))
        assert ledger.facts()["faults"] == {}
    assert response.status_code in {201, 202, 400}
    assert CANARY not in response.text
    if response.status_code == 400:
        assert set(response.json()["error"]) == {"code", "message"}


async def post(ledger: Any, path: str, body: bytes) -> httpx.Response:
    transport = httpx.ASGITransport(app=asgi_app(ledger))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        return await http.post(path, content=body, headers={"content-type": "application/json"})


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf{}",
        b"{}" * 2,
        b'{"search_id":"a","search_id":"b"}',
        b"1e400",
        b'"' + b"\\u0000" * 10 + b'"',
    ],
)
def test_odd_json(body: bytes) -> None:
    with memory_ledger() as ledger:
        assert asyncio.run(post(ledger, "/v1/feedback", body)).status_code == 400
