"""Applying and checking the schema. Safe to run twice, also at once from two processes.

Group roles belong to the whole server, so making them may race with another database's `init`; an advisory lock
guards the schema itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import psycopg
from psycopg import sql

from ragledger.errors import SchemaError
from ragledger.postgres.connection import Connection, keeps_texts, may_act_as, patient
from ragledger.sql import migrations, script

__all__ = ["ROLES", "TEXTS", "Applied", "apply", "check", "latest_version"]

TEXTS = "ragledger_texts"
"""Who may read texts."""
ROLES = (
    "ragledger_owner",
    "ragledger_writer",
    "ragledger_reader",
    "ragledger_collector",
    TEXTS,
)

_LOCK = 0x7261676C  # "ragl"
_LEAVING_S = 3.0  # a session that was just closed may still hold its locks
# As the collector takes them (ragledger_collector/sql/arrivals.sql): the one at work, and sessions that help it.
_NO_COLLECTOR = """
SELECT pg_try_advisory_xact_lock(1919903853, hashtext(current_schema()))
    AND pg_try_advisory_xact_lock(1919903854, hashtext(current_schema()))
"""
_BOOKKEEPING = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    int4 PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What `apply` did: versions applied now, the version in force, and whether the group roles hold.

    `texts`: whether the table for texts exists.
    """

    applied: tuple[int, ...]
    version: int
    roles: Literal["granted", "not permitted", "skipped"]
    texts: bool


def latest_version() -> int:
    """The newest schema version this release knows."""
    return migrations()[-1][0]


def apply(
    connection: Connection,
    schema: str,
    *,
    roles: bool | None = None,
    with_text: bool = False,
    step: Callable[[int], None] = lambda _: None,
) -> Applied:
    """Brings the schema to this release, in one transaction, however long that takes on a large table.

    Args:
        roles: True demands the group roles, False leaves them out, None makes them where the session may.
        with_text: also makes the table for texts, where it is not there yet.
        step: hears of each version.

    Raises:
        SchemaError: the schema in the database is newer than this release, rights are missing, or a collector is at
            work in a schema that must change.
    """
    try:
        with connection.transaction(), patient(connection):
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            _ensure_schema(connection, schema)
            connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(schema)))
            connection.execute(_BOOKKEEPING)
            applied = _migrate(connection, step)
            if with_text:
                connection.execute(script("texts.sql"))
            texts = keeps_texts(connection)
            outcome = _roles(connection, schema, wanted=roles)
    except psycopg.errors.InsufficientPrivilege as exc:
        raise SchemaError(
            f"this user may not make or change the schema `{schema}`; run `ragledger init` as the database's owner"
        ) from exc
    except psycopg.Error as exc:
        raise SchemaError(
            f"the schema could not be applied ({type(exc).__name__}); nothing was changed"
        ) from exc
    return Applied(applied=applied, version=latest_version(), roles=outcome, texts=texts)


def check(connection: Connection, schema: str) -> int:
    """The version in the database, when this release can work with it.

    Raises:
        SchemaError: missing, older or newer; the message says what to do.
    """
    query = sql.SQL("SELECT max(version) FROM {}.schema_migrations").format(sql.Identifier(schema))
    try:
        row = connection.execute(query).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        row = None
    except psycopg.errors.InsufficientPrivilege:
        raise SchemaError(
            f"this user may not read the schema `{schema}`; `GRANT ragledger_writer TO` it, or `ragledger_collector` "
            "for reports"
        ) from None
    version = row[0] if row else None
    if not isinstance(version, int):
        raise SchemaError(f"there is no schema `{schema}` in this database; run `ragledger init`")
    _refuse_newer(version)
    if version < latest_version():
        raise SchemaError(
            f"the schema is at version {version}, this release needs {latest_version()}; run `ragledger init`"
        )
    return version


def _ensure_schema(connection: Connection, schema: str) -> None:
    # IF NOT EXISTS alone asks for the right to create one, also where an administrator has made it beforehand.
    if connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is None:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))


def _migrate(connection: Connection, step: Callable[[int], None]) -> tuple[int, ...]:
    row = connection.execute("SELECT coalesce(max(version), 0) FROM schema_migrations").fetchone()
    current = row[0] if row else 0
    if not isinstance(current, int):
        raise SchemaError("schema_migrations holds something that is not a version")
    _refuse_newer(current)
    new = [one for one in migrations() if one[0] > current]
    if new and current:
        _without_collector(connection)
    for version, name, text in new:
        connection.execute(text)
        connection.execute("INSERT INTO schema_migrations (version, name) VALUES (%s, %s)", [version, name])
        step(1)
    return tuple(version for version, _, _ in new)


def _without_collector(connection: Connection) -> None:
    """Until the end of the transaction no collector works: an older one would leave new rollups without what it counts."""
    until = time.monotonic() + _LEAVING_S
    while connection.execute(_NO_COLLECTOR).fetchone() != (True,):
        if time.monotonic() > until:
            raise SchemaError(
                "`ragledger collect` is at work in this schema, which must change; nothing was changed: stop it, run "
                "`ragledger init` again, and start it with this release"
            )
        time.sleep(0.1)


def _refuse_newer(version: int) -> None:
    if version > latest_version():
        raise SchemaError(
            f"the schema is at version {version}, newer than this release knows ({latest_version()}); "
            "upgrade ragledger"
        )


def _roles(
    connection: Connection, schema: str, *, wanted: bool | None
) -> Literal["granted", "not permitted", "skipped"]:
    if wanted is False:
        return "skipped"
    try:
        with connection.transaction():
            for role in ROLES:
                _ensure_role(connection, role)
            _grant(connection, schema)
    except psycopg.errors.InsufficientPrivilege as exc:
        if wanted:
            raise SchemaError(
                "this user may not make the group roles; run `ragledger init --roles` as a superuser, "
                "or give this user CREATEROLE for that moment"
            ) from exc
        return "not permitted"
    return "granted"


def _ensure_role(connection: Connection, role: str) -> None:
    exists = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None
    if not exists:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            pass  # another database's init was faster: roles belong to the whole server
    if not may_act_as(connection, role):
        # Refused where the role is somebody else's: the grants below hold, and this user keeps its own rights.
        # Up to Postgres 15 it is a unique violation when another database's init has just done it.
        refusals = (psycopg.errors.InsufficientPrivilege, psycopg.errors.UniqueViolation)
        with contextlib.suppress(*refusals), connection.transaction():
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))


def _grant(connection: Connection, schema: str) -> None:
    name = sql.Identifier(schema)
    for role in ROLES:
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(name, sql.Identifier(role)))
    connection.execute(script("roles.sql"))
    if keeps_texts(connection):
        connection.execute(script("texts_roles.sql"))
    connection.execute(sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA {} TO ragledger_owner").format(name))
