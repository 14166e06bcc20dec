"""Who is let in and how much may be sent: before a request reaches what it asks for."""

from __future__ import annotations

import anyio
from starlette.requests import Request

from .bodies import ErrorCode
from .limits import RateLimit
from .tokens import Scope, Tokens, is_loopback

__all__ = ["Gate", "Refused", "read_body"]

MAX_BODY = 16 * 1024
_BODY_TIMEOUT_S = 10.0
_FAILED_LOGINS_PER_S = 1.0
_FAILED_LOGINS_AT_ONCE = 20.0


class Refused(Exception):
    """The request is answered with this. The message is ours: it repeats nothing of what was sent."""

    def __init__(self, status: int, code: ErrorCode, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Gate:
    """Bearer tokens with scopes; without any token, only this host, asked for by its own name."""

    def __init__(self, tokens: Tokens, limit: RateLimit) -> None:
        self._tokens = tokens
        self._limit = limit
        self._failures = RateLimit(_FAILED_LOGINS_PER_S, _FAILED_LOGINS_AT_ONCE)

    def admit(self, request: Request, scope: Scope) -> None:
        """Raises Refused: 401, 403, 429."""
        name = self._by_token(request, scope) if self._tokens else self._by_address(request)
        _or_later(self._limit.wait_s(name))

    def _by_token(self, request: Request, scope: Scope) -> str:
        kind, _, secret = request.headers.get("authorization", "").partition(" ")
        token = self._tokens.find(secret.strip()) if kind.lower() == "bearer" else None
        if token is None:
            _or_later(self._failures.wait_s(request.client.host if request.client else ""))
            message = "a bearer token is needed: Authorization: Bearer ..."
            raise Refused(401, "unauthorized", message, WWW_Authenticate='Bearer realm="ragledger"')
        if scope not in token.scopes:
            raise Refused(403, "forbidden", f"this token has no scope {scope}")
        return token.name

    @staticmethod
    def _by_address(request: Request) -> str:
        """Without tokens. A proxy's address says nothing of who calls, and a foreign name in the Host header is a web page
        that had its own name point here.
        """
        forwarded = "forwarded" in request.headers or "x-forwarded-for" in request.headers
        host = request.headers.get("host", "").rpartition("@")[2]
        name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
        if (
            forwarded
            or request.client is None
            or not is_loopback(request.client.host)
            or not is_loopback(name)
        ):
            message = "without tokens only this host is let in; give ragledger serve --tokens"
            raise Refused(401, "unauthorized", message, WWW_Authenticate='Bearer realm="ragledger"')
        return "this host"


def _or_later(wait_s: int) -> None:
    if wait_s:
        raise Refused(429, "too_many_requests", f"try again in {wait_s} s", Retry_After=str(wait_s))


async def read_body(request: Request) -> bytes:
    """The JSON text of a request. Raises Refused: 408, 413, 415."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a form of a foreign page cannot send
        raise Refused(415, "unsupported_media_type", "send application/json")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > MAX_BODY:
        raise _too_large()
    body = bytearray()
    with anyio.move_on_after(_BODY_TIMEOUT_S) as waiting:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY:
                raise _too_large()
    if waiting.cancelled_caught:
        raise Refused(408, "timeout", "the body did not arrive in time")
    return bytes(body)


def _too_large() -> Refused:
    return Refused(413, "too_large", f"a body has at most {MAX_BODY} bytes", Connection="close")
