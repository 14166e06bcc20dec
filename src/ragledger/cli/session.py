"""What every command needs: options with one meaning everywhere, a connection, a clear end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Optional

import msgspec
import typer

from ragledger.errors import ConfigError
from ragledger.wiring import Target, target_from

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection

__all__ = [
    "ActorOption",
    "DsnOption",
    "JsonOption",
    "SchemaOption",
    "SearchOption",
    "SessionOption",
    "as_pretty_json",
    "connected",
    "needing",
    "open_connection",
    "open_target",
    "session_for",
]

DsnOption = Annotated[
    Optional[str],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option(
        "--dsn", help="Where the table is: a libpq URI, a conninfo, or `embedded`. Default RAGLEDGER_DSN."
    ),
]
SchemaOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--schema", help="The Postgres schema. Default RAGLEDGER_SCHEMA, else `ragledger`."),
]
SessionOption = Annotated[Optional[str], typer.Option("--session", help="Every search of this session.")]  # noqa: UP045
ActorOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--actor", help="What this actor asked and every vote it gave, such as human:ana."),
]
SearchOption = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--search", help="This search; may be repeated."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON for programs instead of text for a person.")]


def as_pretty_json(value: Any) -> str:
    """What `--json` prints of a value."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


@contextmanager
def needing(extra: str, who: str) -> Iterator[None]:
    """Imports of an optional extra.

    Raises:
        ConfigError: one of its packages is missing; the message says which one and what to install.
    """
    try:
        yield
    except ImportError as exc:
        missing = (exc.name or "").partition(".")[0]
        raise ConfigError(f"{who} needs {missing}: pip install 'ragledger[{extra}]'") from None


@contextmanager
def open_target(dsn: str | None, schema: str | None) -> Iterator[Target]:
    """The target of the options and the environment; the embedded server is held while the block runs."""
    target = target_from(dsn=dsn, schema=schema)
    try:
        yield target
    finally:
        target.release()


@contextmanager
def open_connection(dsn: str | None, schema: str | None) -> Iterator[Connection]:
    """A connection that may read the table, its schema checked.

    Raises:
        ConfigError, EmbeddedError, DatabaseUnavailable, SchemaError: each with one clear line.
    """
    with open_target(dsn, schema) as target, connected(target) as connection:
        yield connection


def session_for(target: Target) -> Connection:
    """A session for long statements, as the collector."""
    return target.connect(role="ragledger_collector", statement_timeout_s=600.0)


@contextmanager
def connected(target: Target) -> Iterator[Connection]:
    """The same, to a target that is open already."""
    from ragledger.postgres.connection import translated

    connection = session_for(target)
    try:
        with translated():
            yield connection
    finally:
        connection.close()
