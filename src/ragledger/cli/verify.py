"""`ragledger verify`: does everything add up?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ragledger.balance import WriterBalance, balances

from .passes import permitted
from .progress import progress
from .session import DsnOption, JsonOption, SchemaOption, open_target

if TYPE_CHECKING:
    from ragledger_collector.verification import Difference, Verified

__all__ = ["verify_command"]

_FATES = ("written", "waiting", "pending", "rejected", "refused", "unfinished")
_SHOWN = 50


def verify_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    writers: Annotated[  # noqa: FBT002
        bool, typer.Option("--writers", help="Every record of every writer has a fate, and only one.")
    ] = False,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Prove that the rollups are what the table says; with --writers, that no record was lost or doubled. Exit 1 when not.

    Buckets that retention has sealed are listed and left out, and so is what waits for `ragledger collect`; exit 2
    when nothing else is there. Sums of other rollups, such as hours of minutes, must be these sums all the same.

    Of writers: offered = written + waiting + pending + rejected + refused + unfinished; removed is the part of written that
    retention or erasure took.

    Example: ragledger verify
    """
    with (
        open_target(dsn, schema) as target,
        target.connect(role="ragledger_collector", statement_timeout_s=600.0) as connection,
        permitted(),
    ):
        if writers:
            found = balances(connection, target.journal_dir)
            failed = any(balance.faults for balance in found)
        else:
            from ragledger_collector.verification import verify

            with progress("comparing", "days") as step:
                rollups = verify(connection, step)
            failed = bool(rollups.differing)
    if as_json:
        typer.echo(msgspec.json.encode(found if writers else rollups).decode())
    else:
        _show(found) if writers else _show_rollups(rollups)
    if failed or (not writers and _nothing_compared(rollups)):
        raise typer.Exit(1 if failed else 2)


def _nothing_compared(found: Verified) -> bool:
    return not found.rows and bool(found.waiting or found.waiting_days or found.waiting_corpora)


def _show_rollups(found: Verified) -> None:
    for of in found.sealed:
        typer.echo(
            f"{of.project}: {of.minutes:,} sealed minute(s) from {of.first} to {of.last} were left out"
        )
    if found.waiting:
        typer.echo(f"{found.waiting:,} minute(s) wait for `ragledger collect` and were left out")
    if found.waiting_days:
        typer.echo(
            f"{found.waiting_days:,} day(s) of documents wait for `ragledger collect` and were left out"
        )
    if found.waiting_corpora:
        typer.echo(
            f"the documents in use of {found.waiting_corpora:,} corpora wait for `ragledger collect` and were left out"
        )
    for difference in found.differing[:_SHOWN]:
        typer.echo(_words(difference), err=True)
    if (left := len(found.differing) - _SHOWN) > 0:
        typer.echo(f"and {left:,} more; --json has all", err=True)
    if found.differing:
        typer.echo(f"{len(found.differing):,} row(s) differ from the table", err=True)
    elif _nothing_compared(found):
        typer.echo("nothing was compared: run `ragledger collect --once` first", err=True)
    else:
        typer.echo(f"{found.rows:,} row(s) of the rollups are what the table says")


def _words(difference: Difference) -> str:
    where = [difference.grain, difference.project, difference.bucket, *difference.key]
    return f"{difference.table}: {' / '.join(filter(None, where))}: {', '.join(difference.columns)}"


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
