"""The sidecar's loop: pass after pass until a signal, and who is told that it is ready."""

from __future__ import annotations

from pathlib import Path

import typer

from ragledger.errors import RagledgerError
from ragledger.shipper import Shipper

from .ending import Ending
from .readiness import Readiness

__all__ = ["follow"]


def follow(shipper: Shipper, every_s: float, ready_file: Path | None) -> None:
    """Ships until SIGTERM or SIGINT; ready after a pass that the table took, and not while it takes none."""

    def leave() -> None:
        shipper.stopping = True

    ending = Ending(leave)
    typer.echo("ragledger ship: following", err=True)
    failures = 0
    with Readiness("ragledger ship", ready_file) as readiness:
        while not ending.wait(every_s if not failures else min(30.0, 0.5 * 2 ** min(failures, 6))):
            try:
                shipper.rush()
                shipper.ship()
            except RagledgerError as exc:
                shipper.close()
                readiness.lose()
                failures += 1
                if failures == 1:
                    typer.echo(f"ragledger ship: waiting for the database ({exc})", err=True)
            else:
                if failures:
                    typer.echo("ragledger ship: the table takes records again", err=True)
                failures = 0
                readiness.reach()
