"""One search as it was, the numbers of a window, and what the application says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import httpx
import pytest
from web.world import search

from ragledger import Candidate, Ledger, Outcome, Signal
from ragledger.http import asgi_app

pytestmark = pytest.mark.pg
MakeClient = Callable[..., httpx.AsyncClient]


async def test_the_structure_of_a_search_is_what_the_table_has_and_not_who_asked(
    client: MakeClient, ledger: Ledger
) -> None:
    with ledger.search(
        corpus="c", surface="chat", session_id="SECRET-S", actor="human:SECRET-A", weights={"vector": 0.6}
    ) as found:
        found.candidates(
            Candidate("a", "d", vector=0.5, score=0.5, signals={"BM25": Signal(2.0, 1)}),
            Candidate("b", score=0.1, admitted=False),
        )
    search_id = found.receipt.search_id
    assert search_id is not None
    ledger.vote(search_id, "a", "relevant", actor="human:SECRET-A")
    ledger.accessed(search_id, rank=1)
    ledger.deliver(search_id, [1])
    ledger.assess(search_id, "coverage", None)
    assert ledger.flush()
    async with client() as http:
        response = await http.get(f"/v1/searches/{search_id}")
    body = response.json()
    assert response.status_code == 200
    assert "SECRET" not in response.text
    assert (body["surface"], body["actor_kind"], body["weights"]["effective"]) == (
        "chat",
        "human",
        {"vector": 0.6},
    )
    first, second = body["hits"]
    assert (first["chunk_id"], first["votes"], first["accessed"]) == ("a", {"relevant": 1}, True)
    assert first["signals"] == {"BM25": {"score": 2.0, "rank": 1}}
    assert (second["admitted"], second["votes"], second["accessed"], second["vector_score"]) == (
        False,
        None,
        False,
        None,
    )
    assert body["delivery"] == {"by": "application", "hit_ranks": [1], "scores": None}
    assert body["assessments"] == [{"name": "coverage", "value": None, "method": None, "weights": None}]


@pytest.mark.parametrize(
    ("search_id", "reason"),
    [("nonsense", "malformed_reference"), ("0193a0c8-0000-7000-8000-000000000000", "unknown_search")],
)
async def test_a_search_that_is_not_there_says_why(client: MakeClient, search_id: str, reason: str) -> None:
    async with client() as http:
        response = await http.get(f"/v1/searches/{search_id}")
    assert (response.status_code, response.json()["error"]["code"]) == (400, reason)


async def test_the_numbers_of_a_window_are_those_of_measure_and_come_by_surface(
    client: MakeClient, ledger: Ledger
) -> None:
    for surface in ("chat", "chat", "tab"):
        search(ledger, "a", surface=surface)
    assert ledger.flush()
    async with client() as http:
        whole = (await http.get("/v1/metrics")).json()
        chat = (await http.get("/v1/metrics", params={"surface": "chat", "project": "test"})).json()
    assert {group["surface"]: group["by_status"]["ok"] for group in whole["by_surface"]} == {
        "chat": 2,
        "tab": 1,
    }
    assert chat["searches"]["by_status"]["ok"] == 2
    assert chat["precision"]["overall"]["human"]["at"]["1"]["precision"] is None  # nobody voted: not measured


@pytest.mark.parametrize(
    ("days", "taken"), [(None, 7), ("30", 30), ("0", 1), ("-5", 1), ("91", 90), ("999999999", 90)]
)
async def test_the_window_is_a_week_and_at_least_1_and_at_most_90_days(
    client: MakeClient, ledger: Ledger, days: str | None, taken: int
) -> None:
    from datetime import datetime, timezone

    search(ledger, "a")
    assert ledger.flush()
    async with client() as http:
        body = (await http.get("/v1/metrics", params={"days": days} if days else {})).json()
    since = datetime.fromisoformat(body["window"]["since"].replace("Z", "+00:00"))
    assert round((datetime.now(timezone.utc) - since).total_seconds() / 86_400, 1) == taken


@pytest.mark.parametrize(
    "asked", [{"days": "x"}, {"days": "1e3"}, {"days": "\u0663"}, {"weeks": "1"}, {"surface": "\0"}]
)
async def test_a_window_that_cannot_be_read_is_refused(client: MakeClient, asked: dict[str, str]) -> None:
    async with client() as http:
        response = await http.get("/v1/metrics", params=asked)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "malformed_query")


async def test_p8_no_search_is_no_measurement(client: MakeClient) -> None:
    async with client() as http:
        response = await http.get("/v1/metrics")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "nothing_to_measure")


async def test_readiness_says_whether_votes_can_be_checked(
    client: MakeClient, make_ledger: Callable[..., Ledger]
) -> None:
    async with client() as http:
        assert (await http.get("/readyz")).json() == {"status": "ready", "table": "reachable"}
    nowhere = make_ledger(dsn="postgresql://127.0.0.1:1/x", name="nowhere")
    transport = httpx.ASGITransport(app=asgi_app(nowhere))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        away = await http.get("/readyz")
        metrics = await http.get("/v1/metrics")
        nowhere.close()
        closed = await http.get("/readyz")
    assert (away.status_code, away.json()) == (200, {"status": "ready", "table": "unreachable"})
    assert (metrics.status_code, metrics.headers["retry-after"]) == (503, "5")
    assert (closed.status_code, closed.json()["status"]) == (503, "not_ready")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/v1/nothing", 404, "not_found"), ("PUT", "/v1/feedback", 405, "method_not_allowed")],
)
async def test_an_address_that_is_none_is_answered_in_the_same_form(
    client: MakeClient, method: str, path: str, status: int, code: str
) -> None:
    async with client() as http:
        response = await http.request(method, path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_it_mounts_and_its_document_knows_where(ledger: Ledger) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    mounted = Starlette(routes=[Mount("/ragledger", app=asgi_app(ledger))])
    transport = httpx.ASGITransport(app=mounted)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        document: Any = (await http.get("/ragledger/openapi.json")).json()
        assert (await http.get("/ragledger/healthz")).status_code == 200
    assert document["servers"] == [{"url": "/ragledger"}]
    assert document["components"]["schemas"]["VoteBody"]["properties"]["outcome"]["enum"] == list(
        get_args(Outcome)
    )


@pytest.mark.parametrize(
    ("origins", "answer"), [((), None), (("https://app.example",), "https://app.example")]
)
async def test_other_origins_may_call_only_when_configured(
    client: MakeClient, origins: tuple[str, ...], answer: str | None
) -> None:
    asked = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    async with client(cors_origins=origins) as http:
        allowed = await http.options("/v1/feedback", headers=asked)
        foreign = await http.options("/v1/feedback", headers=asked | {"Origin": "https://evil.example"})
    assert allowed.headers.get("access-control-allow-origin") == answer
    assert "access-control-allow-origin" not in foreign.headers
