"""Votes over HTTP: kept, pending or refused with the reason, never half."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fix_pg import Database
from web.world import search

from ragledger import Ledger
from ragledger.ids import new_id

pytestmark = pytest.mark.pg
MakeClient = Callable[..., httpx.AsyncClient]


def failure(response: httpx.Response) -> str:
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    return str(body["error"]["code"])


@pytest.mark.parametrize("reference", [{"rank": 2}, {"chunk_id": "b"}, {"chunk_id": "b", "rank": None}])
async def test_a_vote_is_kept_and_is_in_the_table(
    client: MakeClient, ledger: Ledger, database: Database, reference: dict[str, Any]
) -> None:
    search_id = search(ledger, "a", "b")
    vote = {"search_id": search_id, "outcome": "relevant", "actor": "human:ana", **reference}
    async with client() as http:
        given = await http.post("/v1/feedback", json=vote)
        opened = await http.post("/v1/accessed", json={"search_id": search_id, **reference})
    assert (given.status_code, given.json()) == (201, {"search_id": search_id, "status": "journalled"})
    assert opened.status_code == 201
    assert ledger.flush()
    rows = database.rows("SELECT rank, stage, outcome, actor_kind, actor_id FROM feedback ORDER BY stage")
    assert rows == [(2, "accessed", None, "system", None), (2, "judged", "relevant", "human", "ana")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"search_id": "nonsense"}, "malformed_reference"),
        ({"outcome": "great"}, "malformed_reference"),
        ({"rank": 0}, "malformed_reference"),
        ({"rank": None}, "malformed_reference"),
        ({"chunk_id": "a"}, "malformed_reference"),  # both
        ({"actor": "robot:x"}, "malformed_reference"),
        ({"search_id": str(uuid4())}, "unknown_search"),
        ({"rank": 9}, "hit_not_returned"),
        ({"rank": None, "chunk_id": "SECRET-CHUNK"}, "hit_not_returned"),
    ],
)
async def test_p7_the_reasons_of_a_refusal_are_told_apart_and_nothing_is_stored(
    client: MakeClient, ledger: Ledger, database: Database, changes: dict[str, Any], reason: str
) -> None:
    vote = {"search_id": search(ledger, "a", "b"), "rank": 1, "outcome": "relevant"} | changes
    async with client() as http:
        response = await http.post("/v1/feedback", json=vote)
    assert (response.status_code, failure(response)) == (400, reason)
    assert "SECRET" not in response.text
    assert ledger.flush()
    assert database.value("SELECT count(*) FROM feedback") == 0


async def test_a_vote_for_a_search_that_has_not_arrived_is_kept_as_pending(
    client: MakeClient, ledger: Ledger
) -> None:
    vote = {"search_id": str(new_id()), "rank": 1, "outcome": "relevant"}
    async with client() as http:
        response = await http.post("/v1/feedback", json=vote)
    assert (response.status_code, response.json()["status"]) == (202, "pending")


async def test_a_vote_that_cannot_be_kept_is_said_to_be_so(
    client: MakeClient, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_id = search(ledger, "a")
    monkeypatch.setattr(ledger.recorder, "_sink", Full())
    async with client() as http:
        response = await http.post(
            "/v1/feedback", json={"search_id": search_id, "rank": 1, "outcome": "relevant"}
        )
    assert (response.status_code, failure(response)) == (503, "unavailable")
    assert response.headers["retry-after"] == "5"


class Full:
    def put(self, record: object) -> str:
        return "cap"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"SECRET"', b'{"search_id": 3}', b'{"search_id": "x", "outcome": "relevant", "SECRET": 1}',
     b'{"search_id": "x", "outcome": "relevant", "rank": 1e99}', b'{"search_id": "\xff"}', b"[" * 10_000,
     b'{"search_id": "\\ud800", "outcome": "relevant", "rank": 1}'],
)  # fmt: skip
async def test_a_body_that_is_none_is_answered_and_not_repeated(client: MakeClient, body: bytes) -> None:
    async with client() as http:
        response = await http.post("/v1/feedback", content=body, headers={"content-type": "application/json"})
    assert (response.status_code, failure(response)[:9]) == (400, "malformed")
    assert "SECRET" not in response.text


async def test_a_fault_of_ours_is_counted_and_says_nothing(
    client: MakeClient, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("SECRET")

    monkeypatch.setattr(ledger, "vote", fail)
    async with client() as http:
        response = await http.post(
            "/v1/feedback", json={"search_id": str(new_id()), "rank": 1, "outcome": "relevant"}
        )
    assert (response.status_code, failure(response)) == (500, "fault")
    assert ledger.facts()["faults"] == {"http": 1}
    assert "SECRET" not in response.text + caplog.text
