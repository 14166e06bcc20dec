"""`ragledger tail`: the latest searches, one line each."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from ragledger.postgres.connection import by_name
from ragledger.sql import named_queries

from .session import DsnOption, JsonOption, SchemaOption, open_connection

__all__ = ["tail_command"]


def tail_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=10_000, help="How many.")] = 10,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Show the latest searches in the table, newest last.

    Example: ragledger tail -n 20
    """
    with open_connection(dsn, schema) as connection:
        cursor = connection.execute(named_queries("look")["latest"], {"count": count})
        rows = list(by_name(cursor))[::-1]
    if as_json:
        typer.echo(msgspec.json.encode(rows).decode())
        return
    for row in rows:
        typer.echo(_line(row))
    if not rows:
        typer.echo("no searches yet", err=True)


def _line(row: dict[str, Any]) -> str:
    found = f"{row['admitted_count']}/{row['candidate_count']}" if row["candidate_count"] is not None else "-"
    latency = f"{row['latency_ms']:.1f} ms" if row["latency_ms"] is not None else "-"
    status = row["status"] + (
        f" ({row['skip_reason'] or row['error_type']})" if row["status"] != "ok" else ""
    )
    degraded = f"  degraded: {row['degraded_reason']}" if row["degraded"] else ""
    return (
        f"{row['started_at']:%H:%M:%S.%f}  {row['search_id']}  {row['project']}/{row['corpus'] or '-'}"
        f"/{row['surface'] or '-'}  {'  ' * row['depth']}{row['retriever'] or row['framework']}  {status}"
        f"  {found} admitted  {latency}  votes {row['votes']}{degraded}"
    )
