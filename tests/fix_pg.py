"""A real Postgres for tests: one template database per session, a copy of it per test.

The server is the embedded one, shared by all xdist workers through its own keeper, unless RAGLEDGER_TEST_DSN
names another.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragledger import schema
from ragledger.embedded import EmbeddedServer, status
from ragledger.postgres.connection import connect

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Database:
    dsn: str

    def connect(self, *, role: str | None = None) -> psycopg.Connection[Any]:
        """A connection as superuser (or as a group role) in the ragledger schema."""
        return connect(self.dsn, "ragledger", role=role)

    def rows(self, query: str, *args: object) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(query, args).fetchall()

    def value(self, query: str, *args: object) -> Any:
        return self.rows(query, *args)[0][0]


@pytest.fixture(scope="session")
def server_dsn() -> Iterator[str]:
    if dsn := os.environ.get("RAGLEDGER_TEST_DSN"):
        yield dsn
        return
    base = Path(tempfile.gettempdir()) / f"ragledger-tests-{os.getuid()}"
    with EmbeddedServer.acquire(base, throwaway=True, timeout_s=60) as server:
        yield server.dsn


class Admin:
    """Makes databases and takes them away again, on one connection for all tests of a worker."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._connection: psycopg.Connection[Any] | None = None
        self._left: list[str] = []

    def make(self, name: str, template: str | None = None) -> Database:
        copied = f' TEMPLATE "{template}"' if template else ""
        self._run(f'CREATE DATABASE "{name}"{copied}')
        self.clear()
        return Database(make_conninfo(self.dsn, dbname=name))

    def leave(self, name: str) -> None:
        """It is dropped after the next one has been made: the server waits 0.1 s where a session is just ending."""
        self._left.append(name)

    def clear(self) -> None:
        while self._left:
            self._run(f'DROP DATABASE IF EXISTS "{self._left.pop()}" WITH (FORCE)')

    def close(self) -> None:
        self.clear()
        if self._connection is not None:
            self._connection.close()

    def _run(self, statement: str) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.dsn, autocommit=True)
        self._connection.execute(statement)


@pytest.fixture(scope="session")
def admin(server_dsn: str) -> Iterator[Admin]:
    made = Admin(server_dsn)
    yield made
    made.close()


@pytest.fixture(scope="session")
def template(admin: Admin) -> Iterator[str]:
    name = f"rl_template_{os.getpid()}"
    made = admin.make(name)
    with connect(made.dsn, "ragledger") as connection:
        schema.apply(connection, "ragledger", roles=True)
    yield name
    admin.leave(name)


@pytest.fixture
def empty_database(admin: Admin) -> Iterator[Database]:
    """A database without the schema."""
    yield from a_database(admin, None)


@pytest.fixture
def database(admin: Admin, template: str) -> Iterator[Database]:
    """A database with the schema and the group roles."""
    yield from a_database(admin, template)


@pytest.fixture
def make_database(admin: Admin, template: str) -> Iterator[Callable[[], Database]]:
    """More than one of them."""
    opened: list[Iterator[Database]] = []

    def make() -> Database:
        opened.append(a_database(admin, template))
        return next(opened[-1])

    yield make
    for generator in opened:
        next(generator, None)


def a_database(admin: Admin, template: str | None) -> Iterator[Database]:
    """One of a name of its own; it goes when the generator goes on."""
    name = f"rl_test_{os.getpid()}_{next(_numbers)}"
    yield admin.make(name, template)
    admin.leave(name)


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server that keeps its promises about crashes, of this test alone."""
    with tempfile.TemporaryDirectory(prefix="ragledger-outage-", ignore_cleanup_errors=True) as base:
        with EmbeddedServer.acquire(Path(base), timeout_s=60) as server:
            yield _with_schema(server)
        deadline = time.monotonic() + 60
        while status(Path(base))["running"] and time.monotonic() < deadline:
            time.sleep(0.02)  # what still stops would write into a directory that goes


def _with_schema(server: EmbeddedServer) -> EmbeddedServer:
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("CREATE DATABASE app")
    with connect(make_conninfo(server.dsn, dbname="app"), "ragledger") as connection:
        schema.apply(connection, "ragledger")
    return server
