"""The sidecar's loop: pass after pass until a signal, and who is told that it is ready."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import typer

from ragledger.errors import RagledgerError
from ragledger.shipper import Shipper

from .readiness import Readiness

__all__ = ["follow"]


def follow(shipper: Shipper, every_s: float, ready_file: Path | None) -> None:
    """Ships until SIGTERM or SIGINT; says that it is ready after the first pass that the table took."""
    done = threading.Event()

    def leave(*_: object) -> None:
        shipper.stopping = True
        done.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    typer.echo("ragledger ship: following", err=True)
    failures = 0
    with Readiness("ragledger ship", ready_file) as readiness:
        while not done.wait(every_s if not failures else min(30.0, 0.5 * 2 ** min(failures, 6))):
            try:
                shipper.rush()
                shipper.ship()
            except RagledgerError as exc:
                shipper.close()
                failures += 1
                if failures == 1:
                    typer.echo(f"ragledger ship: waiting for the database ({exc})", err=True)
            else:
                if failures:
                    typer.echo("ragledger ship: the table takes records again", err=True)
                failures = 0
                readiness.reach()
