"""`ragledger ship`: the journal to the table, once or as a sidecar."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ragledger.journal.salvage import strays
from ragledger.metrics import ShipperSource, instruments_for
from ragledger.shipper import Shipper
from ragledger.waiting import writers_in

from . import following
from .ending import Ending
from .session import DsnOption, JsonOption, SchemaOption, open_target

if TYPE_CHECKING:
    from ragledger.wiring import Target

__all__ = ["ship_command"]

_ReadyFile = Annotated[
    Path | None,
    typer.Option(
        help="With --follow: there while the table takes records, gone while it takes none and at the end. For probes."
    ),
]
_Nice = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=19,
        help="With --follow: how far to stand back when others on this host want to run. "
        f"Default {following.NICE}; not with the embedded server.",
    ),
]


def ship_command(  # noqa: PLR0913  each an option
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Keep shipping until SIGTERM or Ctrl-C.")] = False,  # noqa: FBT002
    every_s: Annotated[float, typer.Option("--every", help="Seconds between passes with --follow.")] = 0.2,
    ready_file: _ReadyFile = None,
    nice: _Nice = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Take what waits in the journal to the table: dead writers whole, live ones up to now.

    Example: ragledger ship --follow     (beside applications that use ship="sidecar")
    """
    # Until the last line is written: who is impatient asks twice.
    with ExitStack() as signals:
        with open_target(dsn, schema) as target:
            shipper = _shipper_for(target, follow=follow)
            try:
                if follow:
                    _stand_back(target, nice)
                    ending = signals.enter_context(Ending(shipper.stop))
                    following.follow(shipper, ending, every_s, ready_file)
                else:
                    shipper.ship()
            finally:
                shipper.close()
            facts = _facts(shipper, target)
        _tell(facts, as_json=as_json)
        for stray in strays(target.journal_dir):
            typer.echo(f"ragledger ship: writer {stray.writer} is left as it is: {stray.why}", err=True)


def _shipper_for(target: Target, *, follow: bool) -> Shipper:
    instruments = instruments_for(None)
    shipper = Shipper(
        target.journal_dir,
        target.connect,
        vote_deadline_h=target.settings.vote_deadline_h,
        live_writers=True,
        in_turn=follow,
        on_batch=partial(instruments.shipped, {}),
    )
    instruments.watch(ShipperSource(shipper, cap_bytes=target.settings.journal_cap_mb * 1024 * 1024))
    return shipper


def _stand_back(target: Target, nice: int | None) -> None:
    if target.settings.dsn == "embedded":
        if nice:  # the server that this process may have to start would inherit it for good
            typer.echo("ragledger ship: --nice does nothing with the embedded server", err=True)
        return
    if not following.stand_back(following.NICE if nice is None else nice) and nice is not None:
        typer.echo(f"ragledger ship: this system does not allow --nice {nice}", err=True)


def _tell(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(facts).decode())
        return
    typer.echo(
        f"{facts['landed']} record(s) landed, {facts['rejected']} rejected, "
        f"{facts['waiting']} waiting in {facts['writers']} journal(s)"
    )


def _facts(shipper: Shipper, target: Target) -> dict[str, Any]:
    writers = writers_in(target.journal_dir)
    return {
        "landed": shipper.landed,
        "rejected": shipper.rejected,
        "waiting": sum(writer.waiting for writer in writers),
        "writers": len(writers),
    }
