"""`ragledger erase`: everything about a session, an actor or a search, with a receipt of what was erased."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from ragledger import removal
from ragledger.postgres.connection import translated
from ragledger.rejections import forget
from ragledger.removal import Removed
from ragledger.shipper import Shipper
from ragledger.sql import named_queries
from ragledger.whose import Whose, whose

from .progress import progress
from .retain import removed_words
from .session import (
    ActorOption,
    DsnOption,
    JsonOption,
    SchemaOption,
    SearchOption,
    SessionOption,
    open_target,
)

if TYPE_CHECKING:
    from ragledger.wiring import Target

__all__ = ["erase_command"]


class Erasure(msgspec.Struct, frozen=True):
    """The receipt: when, of what kind, how much. Not of whom: it may be filed."""

    erased_at: datetime
    what: str
    removed: Removed
    rejected_records: int
    writers_still_waiting: int


def erase_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    session: SessionOption = None,
    actor: ActorOption = None,
    search: SearchOption = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Erase a session, an actor or a search: table, this host's journal and its rejected records.

    What waits in the journal of this host is shipped first, so that it is found. Exit code 1 when a writer elsewhere has
    records that have not been shipped yet: run it again afterwards.

    Example: ragledger erase --actor human:ana
    """
    with open_target(dsn, schema) as target:
        erasure = _erase(target, whose(target.settings, session=session, actor=actor, search=search))
    _tell(erasure, as_json=as_json)
    raise typer.Exit(1 if erasure.writers_still_waiting else 0)


def _erase(target: Target, whom: Whose) -> Erasure:
    shipper = Shipper(
        target.journal_dir, target.connect, vote_deadline_h=target.settings.vote_deadline_h, live_writers=True
    )
    try:
        shipper.ship()
    finally:
        shipper.close()
    removed = Removed()
    with (
        target.connect(role="ragledger_owner", statement_timeout_s=600.0) as connection,
        translated(),
        progress("erasing", "searches") as step,
    ):
        ids = whom.searches(connection)
        for part in removal.remove_searches(connection, ids):
            removed += part
            step(part.searches)
        if whom.actor is not None:
            removed += removal.remove_votes(connection, whom.actor)
        rejected = forget(target.journal_dir, lambda record: record.search_id in ids or whom.owns(record))
        row: Any = connection.execute(named_queries("removal")["waiting_elsewhere"]).fetchone()
    return Erasure(datetime.now(timezone.utc), whom.what, removed, rejected, row[0])


def _tell(erasure: Erasure, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(erasure).decode())
        return
    typer.echo(f"{removed_words(erasure.removed)}; {erasure.rejected_records} rejected record(s) in files")
    if erasure.writers_still_waiting:
        typer.echo(
            f"ragledger erase: {erasure.writers_still_waiting} writer(s) have records that are not in the table yet; "
            "run it again when they have been shipped",
            err=True,
        )
