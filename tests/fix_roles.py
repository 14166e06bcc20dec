"""Login roles, and a server of its own where no group role exists yet: roles belong to the whole server."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from fix_pg import Admin, Database
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ragledger.embedded import EmbeddedServer, status

_numbers = itertools.count(1)


@pytest.fixture
def make_login(server_dsn: str, admin: Admin) -> Iterator[Callable[..., str]]:
    """Makes login roles: `make_login("CREATEROLE", member_of=["ragledger_writer"])`.

    Ask for it before the database that the role gets rights in: a role with rights cannot be dropped.
    """
    made: list[str] = []

    def make(options: str = "", *, member_of: tuple[str, ...] = ()) -> str:
        name = f"rl_login_{os.getpid()}_{next(_numbers)}"
        made.append(name)
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN {options}")
            for role in member_of:
                granted = sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(name))
                connection.execute(granted)
        return name

    yield make
    admin.clear()
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        for name in made:
            connection.execute(f"DROP ROLE {name}")


@pytest.fixture(scope="module")
def bare_server() -> Iterator[str]:
    """A server that no `ragledger init` has seen; its databases live as long as the module."""
    base = Path(tempfile.mkdtemp(prefix="rl-bare-"))
    with EmbeddedServer.acquire(base, throwaway=True, timeout_s=60) as server:
        yield server.dsn
    deadline = time.monotonic() + 30
    while status(base)["running"] and time.monotonic() < deadline:
        time.sleep(0.02)  # what still stops would write into a directory that goes
    shutil.rmtree(base, ignore_errors=True)


class Bare:
    """Makes login roles and empty databases on a server, and takes them away again, group roles included."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._databases: list[str] = []
        self._logins: list[str] = []

    def login(self, options: str = "") -> str:
        name = f"bare_login_{next(_numbers)}"
        self._run(f"CREATE ROLE {name} LOGIN {options}")
        self._logins.append(name)
        return name

    def database(self, *, owner: str = "postgres") -> Database:
        """An empty database, and the dsn by which its owner connects."""
        name = f"bare_{next(_numbers)}"
        self._run(f"CREATE DATABASE {name} OWNER {owner}")
        self._databases.append(name)
        return Database(make_conninfo(self.dsn, dbname=name, user=owner))

    def roles(self) -> set[str]:
        """The group roles that exist."""
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            return {
                row[0]
                for row in admin.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'ragledger%'")
            }

    def clear(self) -> None:
        for name in self._databases:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")
        for name in [*self.roles(), *self._logins]:
            self._run(f"DROP ROLE {name}")

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            admin.execute(statement)


@pytest.fixture
def bare(bare_server: str) -> Iterator[Bare]:
    made = Bare(bare_server)
    yield made
    made.clear()
