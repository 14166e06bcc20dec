"""`ragledger export`: every row of an actor or a session, for whoever asks what is kept of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from ragledger.analyses.stored_texts import as_reader_of_texts, may_read_texts
from ragledger.postgres.connection import by_name, keeps_texts, reading
from ragledger.sql import named_queries
from ragledger.whose import Whose, actor_parameters, whose

from .session import (
    ActorOption,
    DsnOption,
    JsonOption,
    SchemaOption,
    SearchOption,
    SessionOption,
    open_connection,
    open_target,
)

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection

__all__ = ["export_command"]

_OF_SEARCHES = ("searches", "hits", "deliveries", "assessments", "votes_on")
_OF_VOTER = {"votes_of": "feedback", "pending_votes_of": "pending_feedback"}


def export_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    session: SessionOption = None,
    actor: ActorOption = None,
    search: SearchOption = None,
    as_json: JsonOption = True,  # noqa: FBT002  its lines are JSON in any case
) -> None:
    """Write every row of a session, an actor or a search to stdout, one JSON object a line with its `table`.

    What is still in a journal is not here yet: see `ragledger ship`. Texts are written where this user is a member of
    ragledger_texts, or owns the table; else a line on stderr says that they are not. Exit code 1 when nothing is kept.

    Example: ragledger export --actor human:ana > ana.jsonl
    """
    with open_target(dsn, schema) as target:
        whom = whose(target.settings, session=session, actor=actor, search=search)
    written = 0
    with open_connection(dsn, schema) as connection, reading(connection):
        kept = keeps_texts(connection)
        texts = kept and may_read_texts(connection)
        for line in _lines(connection, whom, texts=texts):
            sys.stdout.buffer.write(line + b"\n")
            written += 1
    sys.stdout.buffer.flush()
    typer.echo(f"{written:,} row(s)", err=True)
    if kept and not texts:
        typer.echo(
            "ragledger export: queries and chunks kept as text are not in it: this user may not read them; "
            "GRANT ragledger_texts TO it",
            err=True,
        )
    raise typer.Exit(0 if written else 1)


def _lines(connection: Connection, whom: Whose, *, texts: bool) -> Iterator[bytes]:
    ids = {"ids": list(whom.searches(connection))}
    for query in _OF_SEARCHES:
        yield from _rows(connection, query, "feedback" if query == "votes_on" else query, ids)
    if texts:
        with as_reader_of_texts(connection):
            yield from _rows(connection, "search_texts", "search_texts", ids)
    if whom.actor is not None:
        for query, table in _OF_VOTER.items():
            yield from _rows(connection, query, table, actor_parameters(whom.actor))


def _rows(connection: Connection, query: str, table: str, of: dict[str, Any]) -> Iterator[bytes]:
    for row in by_name(connection.execute(named_queries("whose")[query], of)):
        yield msgspec.json.encode({"table": table, **row}, enc_hook=str)
