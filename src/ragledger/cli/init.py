"""`ragledger init`: the schema, the group roles, the key file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from ragledger.keys import load_key
from ragledger.settings import config_home

from .progress import progress
from .session import DsnOption, JsonOption, SchemaOption, open_target

if TYPE_CHECKING:
    from ragledger.schema import Applied

__all__ = ["init_command"]


def init_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    roles: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--roles/--no-roles",
            help="Demand or leave out the group roles; default: make them where allowed.",
        ),
    ] = None,
    with_text: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--with-text",
            help="Also make the table for queries and chunks as text. Nothing is written to it before an application "
            "says store_text.",
        ),
    ] = False,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Make or upgrade the schema. Safe to run twice, also at the same time.

    Example: ragledger init --dsn postgresql://owner@db/app
    """
    from ragledger.postgres.connection import connect
    from ragledger.schema import apply

    with open_target(dsn, schema) as target:
        with (
            connect(target.dsn, target.schema, statement_timeout_s=600.0) as connection,
            progress("changing the schema", "versions") as step,
        ):
            done = apply(connection, target.schema, roles=roles, with_text=with_text, step=step)
        key = target.settings.key
        load_key(key, config_home(os.environ))
    if as_json:
        facts = {"version": done.version, "applied": done.applied, "roles": done.roles, "texts": done.texts}
        typer.echo(msgspec.json.encode({"schema": target.schema} | facts).decode())
        return
    _tell(target.schema, done)


def _tell(schema: str, done: Applied) -> None:
    what = f"applied version {', '.join(map(str, done.applied))}" if done.applied else "nothing to do"
    typer.echo(f"schema `{schema}` is at version {done.version} ({what}); group roles: {done.roles}")
    if done.texts:
        typer.echo("queries and chunks may be kept in `search_texts`, by applications that say store_text")
    if done.roles == "not permitted":
        typer.echo(
            "  this user may not make roles, so the ledger works with this user's own rights; "
            "run `ragledger init --roles` once as a superuser, or as this user with CREATEROLE",
            err=True,
        )
