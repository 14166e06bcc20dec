"""A server that asks for the password and refuses it, on a real socket: the embedded one has no TCP."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Session(socketserver.BaseRequestHandler):
    """Speaks enough of the protocol, and words its refusal so that it quotes what it was given."""

    def handle(self) -> None:
        while True:
            length = int.from_bytes(self._read(4), "big")
            if self._read(length - 4)[:4] == (196608).to_bytes(4, "big"):
                break
            self.request.sendall(b"N")  # no TLS here
        self.request.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
        self._read(1)
        given = self._read(int.from_bytes(self._read(4), "big") - 4).rstrip(b"\0").decode()
        self.server.given.append(given)  # type: ignore[attr-defined]
        words = f'password authentication failed for user "ana" with "{given}"'
        said = ((b"S", "FATAL"), (b"V", "FATAL"), (b"C", "28P01"), (b"M", words))
        fields = b"".join(code + value.encode() + b"\0" for code, value in said)
        self.request.sendall(b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0")

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            block = self.request.recv(count - len(data))
            if not block:
                raise ConnectionResetError
            data += block
        return data


class RefusingServer(socketserver.ThreadingTCPServer):
    """`given` are the passwords, one per attempt to connect."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.given: list[str] = []

    def dsn(self, password: str) -> str:
        return f"postgresql://ana:{password}@127.0.0.1:{self.server_address[1]}/app"

    def handle_error(self, *_: Any) -> None:
        """The client went away."""


@contextmanager
def refusing_server() -> Iterator[RefusingServer]:
    with RefusingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
