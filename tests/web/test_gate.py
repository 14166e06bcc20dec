"""Who is let in, and how much may be sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from web.world import READER, TOKENS, VOTER, search

from ragledger import ConfigError, Ledger
from ragledger.http import read_tokens
from ragledger.http.gate import MAX_BODY
from ragledger.http.limits import RateLimit
from ragledger.http.tokens import Tokens, is_loopback

pytestmark = pytest.mark.pg
MakeClient = Callable[..., httpx.AsyncClient]


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(
    ("headers", "vote", "read"),
    [
        ({}, 401, 401),
        ({"Authorization": VOTER}, 401, 401),
        ({"Authorization": f"Basic {VOTER}"}, 401, 401),
        (bearer(VOTER + "x"), 401, 401),
        (bearer(""), 401, 401),
        (bearer(VOTER), 201, 403),
        (bearer(READER), 403, 200),
        ({"Authorization": f"bearer  {READER} "}, 403, 200),
    ],
)
async def test_a_token_opens_what_its_scopes_say(
    client: MakeClient, ledger: Ledger, headers: dict[str, str], vote: int, read: int
) -> None:
    search_id = search(ledger, "a")
    assert ledger.flush()
    async with client(tokens=TOKENS, peer="203.0.113.9", host="votes.example") as http:
        given = await http.post(
            "/v1/feedback", json={"search_id": search_id, "rank": 1, "outcome": "relevant"}, headers=headers
        )
        seen = await http.get(f"/v1/searches/{search_id}", headers=headers)
        assert (given.status_code, seen.status_code) == (vote, read)
        if vote == 401:
            assert given.headers["www-authenticate"].startswith("Bearer")
        assert VOTER not in given.text
        # What says nothing of anybody needs no token.
        assert (await http.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("peer", "host", "headers", "status"),
    [
        ("127.0.0.1", "127.0.0.1", {}, 404),
        ("127.0.0.1", "localhost:8787", {}, 404),
        ("::1", "[::1]:8787", {}, 404),
        ("203.0.113.9", "localhost", {}, 401),
        ("127.0.0.1", "evil.example", {}, 401),  # a page whose name was made to point here
        ("127.0.0.1", "localhost.evil.example", {}, 401),
        ("127.0.0.1", "localhost", {"X-Forwarded-For": "203.0.113.9"}, 401),  # a proxy on this host
        ("127.0.0.1", "localhost", {"Forwarded": "for=203.0.113.9"}, 401),
    ],
)
async def test_without_tokens_only_this_host_is_let_in(
    client: MakeClient, peer: str, host: str, headers: dict[str, str], status: int
) -> None:
    async with client(peer=peer, host=host) as http:
        assert (await http.get("/v1/metrics", headers=headers)).status_code == status


async def test_a_body_has_a_limit_whether_it_says_its_length_or_not(client: MakeClient) -> None:
    kind = {"content-type": "application/json"}

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 1024 + 1):
            yield b" " * 1024

    async with client() as http:
        long = await http.post("/v1/feedback", content=b" " * (MAX_BODY + 1), headers=kind)
        unsaid = await http.post("/v1/feedback", content=pieces(), headers=kind)
        whole = await http.post("/v1/feedback", content=b" " * MAX_BODY, headers=kind)
    assert [found.status_code for found in (long, unsaid, whole)] == [413, 413, 400]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
async def test_what_a_form_of_another_page_can_send_is_refused(client: MakeClient, kind: str) -> None:
    async with client() as http:
        response = await http.post("/v1/feedback", content=b"{}", headers={"content-type": kind})
    assert response.status_code == 415


async def test_a_caller_who_asks_too_often_is_told_when_to_come_back(client: MakeClient) -> None:
    async with client(tokens=TOKENS, rate=2.0) as http:
        codes = [(await http.get("/v1/metrics", headers=bearer(READER))) for _ in range(6)]
        other = await http.post("/v1/feedback", json={}, headers=bearer(VOTER))
    assert [code.status_code for code in codes[:4]] == [404] * 4
    assert codes[-1].status_code == 429
    assert codes[-1].headers["retry-after"] == "1"
    assert other.status_code == 400  # a bucket of its own


async def test_guessing_tokens_is_slowed_down(client: MakeClient) -> None:
    async with client(tokens=TOKENS) as http:
        codes = [(await http.get("/v1/metrics", headers=bearer(f"{n:016}"))).status_code for n in range(40)]
        assert codes[:20] == [401] * 20
        assert 429 in codes
        assert (await http.get("/v1/metrics", headers=bearer(READER))).status_code == 404


def test_a_bucket_fills_at_its_rate_up_to_its_burst() -> None:
    now = [0.0]
    limit = RateLimit(0.5, 2, clock=lambda: now[0])
    assert [limit.wait_s("a") for _ in range(3)] == [0, 0, 2]
    now[0] = 1.0
    assert limit.wait_s("a") == 1
    now[0] = 2.0
    assert limit.wait_s("a") == 0
    now[0] = 1e6
    assert [limit.wait_s("a") for _ in range(3)] == [0, 0, 2]


def test_buckets_are_bounded() -> None:
    limit = RateLimit(1, 1)
    for number in range(10_500):
        limit.wait_s(str(number))
    assert len(limit._buckets) == 10_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ui:vote", "a secret has 16 to 512"),
        ("ui:vote:short", "a secret has 16 to 512"),
        (f"ui:vote:{'ü' * 16}", "a secret has 16 to 512"),
        (f"ui:write:{VOTER}", "write name:scopes:secret"),
        (f":vote:{VOTER}", "write name:scopes:secret"),
        (f"a:vote:{VOTER};a:read:{READER}", "line 2: the name of an earlier"),
    ],
)
def test_a_list_of_tokens_that_cannot_be_used_says_where_and_keeps_the_secret(
    text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_tokens(text)
    assert VOTER not in str(caught.value)


def test_tokens_are_read_from_lines_and_kept_as_digests() -> None:
    found = read_tokens(f"# who\n\nui:vote:{VOTER}\n both:vote,read:a:b:{'c' * 16} \n")
    assert [(token.name, sorted(token.scopes)) for token in found] == [
        ("ui", ["vote"]),
        ("both", ["read", "vote"]),
    ]
    assert VOTER not in repr(found)
    assert Tokens(found).find(f"a:b:{'c' * 16}") is found[1]
    assert Tokens(found).find("\udcff") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "LOCALHOST"])
def test_this_host(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", None, "0.0.0.0", "10.0.0.1", "localhost.", "::2", "x"])
def test_not_this_host(host: str | None) -> None:
    assert not is_loopback(host)
