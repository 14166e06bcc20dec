"""A wire that can be cut: between a client and Postgres, byte for byte, until it is told to misbehave."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_CHUNK = 1 << 16
_STATEMENT = {b"P", b"Q", b"B"}  # parse, query, bind: what begins a statement, and not the rows of a COPY


class Proxy:
    """Listens on 127.0.0.1. `with Proxy(server_dsn) as proxy: connect(proxy.dsn)`."""

    def __init__(self, server_dsn: str) -> None:
        parts = conninfo_to_dict(server_dsn)
        host, port = str(parts.get("host") or "localhost"), str(parts.get("port") or "5432")
        self._server: str | tuple[str, int] = (
            f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, int(port))
        )
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.dsn = make_conninfo(
            server_dsn,
            host="127.0.0.1",
            port=self._listener.getsockname()[1],
            sslmode="disable",
            gssencmode="disable",
        )
        self.connections = 0
        self.cuts = 0
        self.delay_s = 0.0
        self.statement_delay_s = 0.0
        self.statements = 0
        self._frozen = threading.Event()
        self._refusing = False
        self._cut_before: bytes | None = None
        self._cut_after: bytes | None = None
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        _close(self._listener)
        self.cut()

    def cut(self) -> None:
        """Closes every connection now."""
        for each in self._sockets:
            _close(each)

    def cut_before(self, words: bytes) -> None:
        """The next message that contains `words` never reaches the server; the connection is closed."""
        self._cut_before = words

    def lose_answer_to(self, words: bytes) -> None:
        """The next message that contains `words` is carried out, and the connection closed without the answer."""
        self._cut_after = words

    def freeze(self) -> None:
        """From now on nothing is forwarded and nothing is closed: packets dropped on the way."""
        self._frozen.set()

    def thaw(self) -> None:
        """What was held back goes on; new connections work again."""
        self._frozen.clear()

    def refuse(self, *, on: bool = True) -> None:
        """Closes what is open and every new connection at once."""
        self._refusing = on
        if on:
            self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self._refusing:
                _close(client)
                continue
            family = socket.AF_UNIX if isinstance(self._server, str) else socket.AF_INET
            server = socket.socket(family)
            try:
                server.connect(self._server)
            except OSError:
                _close(client)
                continue
            self._sockets += [client, server]
            for source, target, outward in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pump, args=(source, target, outward), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, outward: bool) -> None:
        try:
            while data := source.recv(_CHUNK):
                while self._frozen.is_set():
                    time.sleep(0.01)
                if self.delay_s:
                    time.sleep(self.delay_s)
                if outward and data[:1] in _STATEMENT:
                    self.statements += 1
                    time.sleep(self.statement_delay_s)
                if outward and self._cut_before is not None and self._cut_before in data:
                    self._cut_before = None
                    self.cuts += 1
                    break
                if outward and self._cut_after is not None and self._cut_after in data:
                    self._cut_after = None
                    self.cuts += 1
                    source.shutdown(socket.SHUT_WR)  # the answer finds nobody
                    target.sendall(data)
                    time.sleep(0.3)  # carried out meanwhile; a client that is slow to see it would too
                    break
                target.sendall(data)
        except OSError:
            pass
        _close(source)
        _close(target)


def _close(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
