"""`ragledger retain`: the table keeps what is younger than so many days."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Annotated

import msgspec
import typer

from ragledger.postgres.connection import translated
from ragledger.removal import BATCH, Removed, retain, retain_texts

from .progress import progress
from .session import DsnOption, JsonOption, SchemaOption, open_target

__all__ = ["removed_words", "retain_command"]


def retain_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    days: Annotated[int, typer.Option("--days", min=1, help="What is older is removed.")] = 90,
    texts_days: Annotated[
        int,
        typer.Option(
            "--texts-days", min=0, help="Texts of searches that are older are removed; 0: all of them."
        ),
    ] = 30,
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=100_000, help="Searches per transaction.")
    ] = BATCH,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Remove searches that are older than so many days, with everything said of them, and texts earlier. Run it daily.

    Rollups stay. Stopped half-way, it goes on where it was; `ragledger verify --writers` adds up at any time.

    Example: ragledger retain --days 90
    """
    now = datetime.now(timezone.utc)
    removed = Removed()
    with (
        open_target(dsn, schema) as target,
        target.connect(role="ragledger_owner", statement_timeout_s=600.0) as connection,
        translated(),
        progress("removing", "searches") as step,
    ):
        for part in retain_texts(connection, now - timedelta(days=texts_days), batch=batch):
            removed += part
            step(0)
        for part in retain(connection, now - timedelta(days=days), batch=batch):
            removed += part
            step(part.searches)
    typer.echo(msgspec.json.encode(removed).decode() if as_json else removed_words(removed))


def removed_words(removed: Removed) -> str:
    """`removed 3 searches, 30 hits, ...`, or that there was nothing."""
    counts = msgspec.structs.asdict(removed)
    said = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return f"removed {', '.join(said)}" if said else "nothing to remove"
