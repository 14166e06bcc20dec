"""A real Postgres for tests: one template database per session, a copy of it per test.

The server is the embedded one, shared by all xdist workers through its own keeper, unless RAGLEDGER_TEST_DSN
names another.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragledger import schema
from ragledger.embedded import EmbeddedServer
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


@pytest.fixture(scope="session")
def template(server_dsn: str) -> Iterator[str]:
    name = f"rl_template_{os.getpid()}"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    with connect(make_conninfo(server_dsn, dbname=name), "ragledger") as connection:
        schema.apply(connection, "ragledger", roles=True)
    yield name
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture
def empty_database(server_dsn: str) -> Iterator[Database]:
    """A database without the schema."""
    yield from _database(server_dsn, None)


@pytest.fixture
def database(server_dsn: str, template: str) -> Iterator[Database]:
    """A database with the schema and the group roles."""
    yield from _database(server_dsn, template)


@pytest.fixture
def make_database(server_dsn: str, template: str) -> Iterator[Callable[[], Database]]:
    """More than one of them."""
    opened: list[Iterator[Database]] = []

    def make() -> Database:
        opened.append(_database(server_dsn, template))
        return next(opened[-1])

    yield make
    for generator in opened:
        next(generator, None)


def _database(server_dsn: str, template: str | None) -> Iterator[Database]:
    name = f"rl_test_{os.getpid()}_{next(_numbers)}"
    copied = f' TEMPLATE "{template}"' if template else ""
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"{copied}')
    yield Database(make_conninfo(server_dsn, dbname=name))
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
