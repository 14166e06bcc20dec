"""`ragledger verify`: does everything add up?"""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from ragledger.balance import WriterBalance, balances
from ragledger.errors import ConfigError
from ragledger.postgres.connection import translated

from .session import DsnOption, JsonOption, SchemaOption, open_target

__all__ = ["verify_command"]

_FATES = ("written", "waiting", "pending", "rejected", "refused", "unfinished")


def verify_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    writers: Annotated[  # noqa: FBT002
        bool, typer.Option("--writers", help="Every record of every writer has a fate, and only one.")
    ] = False,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Prove from the table and the journal that nothing was lost or doubled. Exit 1 when it does not add up.

    offered = written + waiting + pending + rejected + refused + unfinished; removed is the part of written that
    retention or erasure took.

    Example: ragledger verify --writers
    """
    if not writers:
        raise ConfigError("say what to verify: --writers")
    with (
        open_target(dsn, schema) as target,
        target.connect(role="ragledger_collector", statement_timeout_s=600.0) as connection,
        translated(),
    ):
        found = balances(connection, target.journal_dir)
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _show(found)
    if any(balance.faults for balance in found):
        raise typer.Exit(1)


def _show(found: list[WriterBalance]) -> None:
    for balance in found:
        typer.echo(f"{balance.writer_id}  {balance.project}, {balance.state}")
        typer.echo(f"  {_sum([balance])}")
        for fault in balance.faults:
            typer.echo(f"  {fault}", err=True)
    typer.echo(f"{len(found)} writer(s): {_sum(found)}")
    if not any(balance.faults for balance in found):
        typer.echo("every record has one fate")


def _sum(found: list[WriterBalance]) -> str:
    totals = {
        name: sum(getattr(balance, name) for balance in found) for name in ("offered", *_FATES, "removed")
    }
    fates = " + ".join(f"{totals[name]} {name}" for name in _FATES)
    return f"{totals['offered']} offered = {fates} ({totals['removed']} removed)"
