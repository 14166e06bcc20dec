"""Opening a connection: bounded in time, in the configured schema, acting as a group role where it may."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Generator, Iterator
from functools import cache
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import sql
from psycopg.abc import PQGen

from ragledger.errors import DatabaseUnavailable
from ragledger.forks import unforked

__all__ = [
    "Connection",
    "acting_as",
    "by_name",
    "connect",
    "keeps_texts",
    "may_act_as",
    "patient",
    "reading",
    "translated",
]

Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

_R = TypeVar("_R")
_W = TypeVar("_W")
_CONNECT_TIMEOUT_S = 5
_GRACE_S = 5.0
_SET_OPTION_SINCE = 160000
# UTC, so that no moment comes back with a zone in which an hour happens twice: Python takes the two for equal.
_SESSION = """
SELECT set_config('search_path', %(path)s, false), set_config('statement_timeout', %(timeout)s, false),
    set_config('client_min_messages', 'warning', false), set_config('TimeZone', 'UTC', false)
"""
_PATIENT = """
SELECT set_config('lock_timeout', current_setting('statement_timeout'), true), set_config('statement_timeout', '0', true)
"""
# What the driver's messages start or end with, in our own words: they also quote the dsn, host and user.
_REASONS = (
    ("failed to resolve host", "the host name is unknown"),
    ("connection refused", "nobody listens at that host and port"),
    ("no such file or directory", "there is no server socket at that place"),
    ("password authentication failed", "user or password refused"),
    ("no password supplied", "a password is needed"),
    ("no pg_hba.conf entry", "the server lets this user in from elsewhere only"),
    ("does not exist", "no such database or user"),
    ("timeout expired", "no answer in time"),
    ("starting up", "the server is starting up"),
    ("too many", "the server has no connection left"),
    ("connection slots are reserved", "the server has no connection left"),
)


def connect(
    dsn: str, schema: str, *, role: str | None = None, statement_timeout_s: float = 30.0
) -> Connection:
    """A connection with autocommit on and `search_path` set to `schema`.

    With `role`, the session acts as that group role when it is a member of it; `acting_as` tells.

    Raises:
        DatabaseUnavailable: no connection; the message names no host, user or password.
    """
    _wake_resolver()
    try:
        # Not by `options`: that would replace those of the dsn, which some hosted servers route by.
        connection = _Bounded.connect(
            dsn,
            autocommit=True,
            connect_timeout=_CONNECT_TIMEOUT_S,
            fallback_application_name="ragledger",
            tcp_user_timeout=int(min(20.0, max(2.0, 2 * statement_timeout_s)) * 1000),
            keepalives_idle=10,
        )
    except (psycopg.Error, UnicodeError) as exc:
        raise DatabaseUnavailable(f"no connection to the database: {_reason(exc)}") from None
    connection.longest_s = statement_timeout_s + _GRACE_S
    try:
        session = {"path": f'"{schema}"', "timeout": str(int(statement_timeout_s * 1000))}
        connection.execute(_SESSION, session)
        if role is not None and may_act_as(connection, role):
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    except psycopg.Error as exc:
        connection.close()
        raise DatabaseUnavailable(f"the database refused the session ({type(exc).__name__})") from None
    return connection


@cache
def _wake_resolver() -> None:
    """Makes the first look-up of a process in a moment without a fork.

    It imports, and it reads the C library's configuration under a lock: a child of that moment could never again look
    up a name. This one is answered from a file.
    """
    with unforked, contextlib.suppress(OSError):
        socket.getaddrinfo("localhost", None)


def acting_as(connection: Connection) -> str:
    """The role whose rights the session has."""
    row = connection.execute("SELECT current_user").fetchone()
    return str(row[0]) if row else ""


@contextlib.contextmanager
def reading(connection: Connection) -> Iterator[Connection]:
    """One read-only snapshot, so that the numbers of a report belong together."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection


@contextlib.contextmanager
def patient(connection: Connection) -> Iterator[None]:
    """Statements of the transaction at hand may work as long as they need; they wait for others no longer than before.

    A server that is gone is noticed by the keepalives of the connection.
    """
    connection.execute(_PATIENT)
    if not isinstance(connection, _Bounded):
        yield
        return
    longest_s, connection.longest_s = connection.longest_s, math.inf
    try:
        yield
    finally:
        connection.longest_s = longest_s


def by_name(cursor: psycopg.Cursor[tuple[object, ...]]) -> Iterator[dict[str, Any]]:
    """The rows of a query, each with its columns by name."""
    names = [column.name for column in cursor.description or ()]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def may_act_as(connection: Connection, role: str) -> bool:
    """Whether the session may SET ROLE to an existing group role.

    Since Postgres 16 membership alone does not say so: who makes a role is a member that may administer it only.
    """
    privilege = "SET" if connection.info.server_version >= _SET_OPTION_SINCE else "MEMBER"
    row = connection.execute(
        "SELECT pg_has_role(session_user, r.oid, %s) FROM pg_roles r WHERE rolname = %s", [privilege, role]
    ).fetchone()
    return bool(row and row[0])


def keeps_texts(connection: Connection) -> bool:
    """Whether the schema of the session has the optional table for texts."""
    row = connection.execute("SELECT to_regclass('search_texts') IS NOT NULL").fetchone()
    return bool(row and row[0])


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """What the driver raises inside becomes one clear line without the driver's message.

    Raises:
        DatabaseUnavailable: the connection was lost, or a statement was refused.
    """
    try:
        yield
    except psycopg.Error as exc:
        raise DatabaseUnavailable(f"the database gave up on a query ({type(exc).__name__})") from None


class _Bounded(psycopg.Connection[tuple[object, ...]]):
    """Gives up when nothing is heard for longer than any statement may take, and keeps forks out of the driver.

    The statement timeout is kept by the server: when packets are dropped on the way, or a proxy hangs, nobody else ends
    the wait.
    """

    longest_s = _CONNECT_TIMEOUT_S + _GRACE_S

    @classmethod
    def _connect_gen(cls, *args: Any, **options: Any) -> Any:
        return _unforked_steps(super()._connect_gen(*args, **options))

    def wait(self, gen: PQGen[_R], *args: Any, **options: Any) -> _R:
        steps = self._until(_unforked_steps(gen), time.monotonic() + self.longest_s)
        return super().wait(steps, *args, **options)

    def _until(self, gen: PQGen[_R], deadline: float) -> PQGen[_R]:
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and time.monotonic() > deadline:
                    self.pgconn.finish()
                    raise psycopg.OperationalError("no answer in time")
                state = gen.send(ready)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


def _unforked_steps(gen: Generator[_W, Any, _R]) -> Generator[_W, Any, _R]:
    """The same steps, without a fork in the middle of one: TLS holds locks there. Between them it waits, and not here."""
    ready: Any = None
    try:
        while True:
            with unforked:
                state = gen.send(ready)
            ready = yield state
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def _reason(exc: Exception) -> str:
    if not isinstance(exc, psycopg.OperationalError):
        return "the dsn cannot be read"
    message = str(exc).lower()
    for phrase, words in _REASONS:
        if phrase in message:
            return words
    return exc.sqlstate or type(exc).__name__
