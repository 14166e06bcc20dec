"""Votes and measurements over HTTP: an ASGI application to mount, and what `ragledger serve` runs.

Needs the extra `http` (starlette, uvicorn).
"""

from __future__ import annotations

try:
    import starlette  # noqa: F401
except ImportError as exc:
    raise type(exc)("ragledger.http needs: pip install 'ragledger[http]'", name=exc.name) from exc

from .app import asgi_app
from .tokens import Token, read_tokens

__all__ = ["Token", "asgi_app", "read_tokens"]
