"""`ragledger serve`: votes and measurements over HTTP."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from ragledger.errors import ConfigError

from .session import DsnOption, JsonOption, SchemaOption

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ragledger.http import Token

__all__ = ["serve_command"]


HostOption = Annotated[str, typer.Option("--host", help="Where to listen. Without tokens only loopback.")]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")]
TokensOption = Annotated[
    Optional[Path],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option("--tokens", help="A file of name:scopes:secret lines. Default RAGLEDGER_HTTP_TOKENS."),
]
CorsOption = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--cors-origin", help="An origin whose pages may vote, such as https://app.example."),
]
RateOption = Annotated[float, typer.Option("--rate", min=0.1, help="Requests a second and token.")]


def serve_command(  # noqa: PLR0913  one parameter per option of the command line
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8787,
    tokens: TokensOption = None,
    cors_origin: CorsOption = None,
    rate: RateOption = 200.0,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Take votes and answer with numbers over HTTP, until SIGTERM or Ctrl-C.

    Example: ragledger serve --tokens tokens.txt --host 0.0.0.0 --port 8787
    """
    try:
        import uvicorn  # noqa: F401

        from ragledger.http import asgi_app
    except ImportError:
        raise ConfigError("ragledger serve needs: pip install 'ragledger[http]'") from None
    import ragledger

    known = _tokens(tokens, host)
    ledger = ragledger.open(dsn, schema=schema)
    try:
        app = asgi_app(ledger, tokens=known, cors_origins=cors_origin or (), rate=rate)
        _run(app, host, port, as_json=as_json)
    finally:
        ledger.close()


def _run(app: Starlette, host: str, port: int, *, as_json: bool) -> None:
    import uvicorn

    # No access log: an address holds a search's id, and a query string what a caller wrote.
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="error",
    )
    # uvicorn raises the signal that ended it once more: it must not end us before the ledger is closed.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    with _listener(host, port) as listener:
        place = listener.getsockname()
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        url = f"http://{shown}:{place[1]}"
        typer.echo(f"ragledger serve: listening on {url}", err=True)
        if as_json:
            typer.echo(msgspec.json.encode({"url": url}).decode())
        uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as exc:
        number = getattr(exc, "errno", None) or 0
        why = os.strerror(number) if number > 0 else "no such address"
        raise ConfigError(f"nobody can listen at that host and port ({why})") from None
    # Connections inherit it. Without it an answer, written in two pieces, waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _tokens(file: Path | None, host: str) -> tuple[Token, ...]:
    from ragledger.http.tokens import is_loopback, read_tokens

    try:
        text = file.read_text("utf-8") if file is not None else os.environ.get("RAGLEDGER_HTTP_TOKENS", "")
    except (OSError, UnicodeError):
        raise ConfigError("the file of --tokens cannot be read") from None
    found = read_tokens(text)
    if not found and not is_loopback(host):
        raise ConfigError("without tokens only this host is let in; give --tokens, or listen on 127.0.0.1")
    return found
