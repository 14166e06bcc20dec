"""Asks the server over its socket whether it answers, and makes the database when it is missing."""

from __future__ import annotations

from urllib.parse import quote

import psycopg
from psycopg import sql

__all__ = ["DATABASE", "make_dsn", "try_connect"]

DATABASE = "ragledger"


def make_dsn(socket_dir: str, port: int, database: str = DATABASE) -> str:
    """The connection string of one database, for libpq and everything that is built on it."""
    return f"postgresql://postgres@/{database}?host={quote(socket_dir, safe='')}&port={port}"


def try_connect(socket_dir: str, port: int) -> str | None:
    """None when the database answers, else the reason why it does not yet."""
    try:
        with psycopg.connect(make_dsn(socket_dir, port), connect_timeout=2):
            return None
    except psycopg.errors.ConnectionTimeout as exc:
        return " ".join(str(exc).split())
    except psycopg.OperationalError as exc:
        # libpq gives no SQLSTATE for a refused connection, so the server itself is asked whether the database exists.
        reason = str(exc)
    try:
        with psycopg.connect(
            make_dsn(socket_dir, port, "postgres"), connect_timeout=2, autocommit=True
        ) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if known is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
                return None
    except psycopg.Error as exc:  # also when another user made it at the same moment
        reason = str(exc)
    return " ".join(reason.split())
