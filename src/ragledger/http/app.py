"""The ASGI application: votes in, structure and numbers out. No text of a query, a chunk or an exception either way."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ragledger.errors import DatabaseUnavailable, SchemaError, VoteRefused

from .bodies import AccessedBody, Error, ErrorCode, Failure, Given, Health, VoteBody
from .gate import Gate, Refused, read_body
from .limits import RateLimit
from .openapi import document
from .reading import Table, window_of
from .tokens import Scope, Token, Tokens

if TYPE_CHECKING:
    from ragledger.ledger import Ledger
    from ragledger.model import Receipt
    from ragledger.postgres.connection import Connection
    from ragledger.wiring import Target

__all__ = ["asgi_app"]

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_Body = TypeVar("_Body", VoteBody, AccessedBody)
_READ_TIMEOUT_S = 10.0
_RETRY_S = "5"
_READS_AT_ONCE = 4
_CODES: dict[int, ErrorCode] = {404: "not_found", 405: "method_not_allowed"}
_WORDS = {404: "there is nothing at this address", 405: "this address does not take this method"}
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_HOW = "send a JSON object with search_id, chunk_id or rank, {}and perhaps actor"


def asgi_app(
    ledger: Ledger,
    *,
    tokens: Sequence[Token] = (),
    cors_origins: Sequence[str] = (),
    rate: float = 200.0,
) -> Starlette:
    """Votes and measurements of a ledger, to mount in an application or to serve by itself.

    Args:
        ledger: takes the votes; stays the caller's to close.
        tokens: who is let in. Without any, only requests from this host that name it as the host are.
        cors_origins: whose web pages may call, such as `https://app.example`. Default none but the same origin's.
        rate: requests a second and token; twice as many at once.
    """
    service = _Service(ledger, Table(_connecting(ledger)), Gate(Tokens(tokens), RateLimit(rate, 2 * rate)))
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(cors_origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
    )
    return Starlette(
        routes=service.routes,
        middleware=[cors] if cors_origins else [],
        exception_handlers={HTTPException: _unrouted},
    )


class _Service:
    """The addresses, each behind the gate, each with an answer for everything that may go wrong."""

    def __init__(self, ledger: Ledger, table: Table, gate: Gate) -> None:
        self._ledger = ledger
        self._table = table
        self._gate = gate
        self._reads = anyio.CapacityLimiter(_READS_AT_ONCE)
        self._script = (files("ragledger.http") / "thumbs.js").read_bytes()
        answered = self._answered
        self.routes = [
            Route("/v1/feedback", answered(self._feedback, "vote"), methods=["POST"]),
            Route("/v1/accessed", answered(self._accessed, "vote"), methods=["POST"]),
            Route("/v1/searches/{search_id}", answered(self._search, "read"), methods=["GET"]),
            Route("/v1/metrics", answered(self._metrics, "read"), methods=["GET"]),
            Route("/healthz", answered(self._health), methods=["GET"]),
            Route("/readyz", answered(self._ready), methods=["GET"]),
            Route("/openapi.json", answered(self._openapi), methods=["GET"]),
            Route("/thumbs.js", answered(self._thumbs), methods=["GET"]),
        ]

    async def _feedback(self, request: Request) -> Response:
        body = await _body(request, VoteBody, "outcome ")
        give = self._ledger.vote

        def vote() -> Receipt:
            return give(body.search_id, body.chunk_id, body.outcome, rank=body.rank, actor=body.actor)

        return await self._given(body.search_id, vote)

    async def _accessed(self, request: Request) -> Response:
        body = await _body(request, AccessedBody, "")
        give = self._ledger.accessed

        def note() -> Receipt:
            return give(body.search_id, body.chunk_id, rank=body.rank, actor=body.actor)

        return await self._given(body.search_id, note)

    async def _given(self, search_id: str, give: Callable[[], Receipt]) -> Response:
        """In a thread where the vote may wait: a search of another process is looked up in the table, once."""
        at_once = self._ledger.votes_at_once(search_id)
        receipt = give() if at_once else await anyio.to_thread.run_sync(give)
        given = Given.of(receipt)
        if given is None:
            message = f"the vote was not kept ({receipt.reason}); send it again later"
            return _error(503, "unavailable", message, Retry_After=_RETRY_S)
        return _json(202 if given.status in {"pending", "unknown"} else 201, given)

    async def _search(self, request: Request) -> Response:
        search_id = request.path_params["search_id"]
        return _json(200, await self._read(lambda: self._table.search(search_id)))

    async def _metrics(self, request: Request) -> Response:
        window = window_of(request.query_params)
        return _json(200, await self._read(lambda: self._table.measurement(window)))

    async def _health(self, _: Request) -> Response:
        return _json(200, Health("ok"))

    async def _ready(self, _: Request) -> Response:
        if self._ledger.closed:
            return _json(503, Health("not_ready"), Retry_After=_RETRY_S)
        try:
            await self._read(self._table.ping)
        except (DatabaseUnavailable, SchemaError):  # votes are kept until it is back
            return _json(200, Health("ready", "unreachable"))
        return _json(200, Health("ready", "reachable"))

    async def _openapi(self, request: Request) -> Response:
        return _json(200, document(request.scope.get("root_path", "")))

    async def _thumbs(self, _: Request) -> Response:
        return Response(self._script, media_type="text/javascript", headers=_HEADERS)

    async def _read(self, work: Callable[[], Any]) -> Any:
        return await anyio.to_thread.run_sync(work, limiter=self._reads)

    def _answered(self, handler: Handler, scope: Scope | None = None) -> Handler:
        async def endpoint(request: Request) -> Response:
            try:
                if scope is not None:
                    self._gate.admit(request, scope)
                return await handler(request)
            except Exception as exc:  # noqa: BLE001  the server would log its message, which may quote what was sent
                return self._failed(exc)

        return endpoint

    def _failed(self, exc: Exception) -> Response:
        if isinstance(exc, Refused):
            return _error(exc.status, exc.code, exc.message, **exc.headers)
        if isinstance(exc, VoteRefused):
            return _error(400, exc.reason, str(exc))  # type: ignore[arg-type]
        if isinstance(exc, (DatabaseUnavailable, SchemaError)):
            return _error(503, "unavailable", str(exc), Retry_After=_RETRY_S)
        if not isinstance(exc, ClientDisconnect):
            self._ledger.guard.count("http", exc)
        return _error(500, "fault", "a fault of ours; it was counted")


async def _body(request: Request, kind: type[_Body], and_what: str) -> _Body:
    """The typed body. Its reader's own messages quote values, so ours says what is right instead."""
    raw = await read_body(request)
    with contextlib.suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
        return msgspec.json.decode(raw, type=kind)
    raise Refused(400, "malformed_body", _HOW.format(and_what))


def _connecting(ledger: Ledger) -> Callable[[], Connection]:
    """Connections to where the ledger writes to."""
    from ragledger.wiring import target_from

    @cache
    def target() -> Target:
        return target_from(dsn=ledger.settings.dsn, schema=ledger.settings.schema)

    return lambda: target().connect(role="ragledger_collector", statement_timeout_s=_READ_TIMEOUT_S)


def _json(status: int, body: Any, **headers: str) -> Response:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(msgspec.json.encode(body), status, media_type="application/json", headers=_HEADERS | said)


def _error(status: int, code: ErrorCode, message: str, **headers: str) -> Response:
    return _json(status, Error(Failure(code, message)), **headers)


async def _unrouted(_: Request, exc: Exception) -> Response:
    status = exc.status_code if isinstance(exc, HTTPException) else 500
    headers = dict(exc.headers or {}) if isinstance(exc, HTTPException) else {}
    return _error(status, _CODES.get(status, "fault"), _WORDS.get(status, "this cannot be done"), **headers)
