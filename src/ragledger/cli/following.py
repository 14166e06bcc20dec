"""The sidecar's loop: pass after pass until a signal, behind whoever searches, and who is told that it is ready."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import typer

from ragledger.errors import RagledgerError
from ragledger.shipper import Shipper

from .ending import Ending
from .readiness import Readiness

__all__ = ["NICE", "follow", "stand_back"]

NICE = 10
"""By Linux' weights a tenth of what another process gets, where all processors are busy."""


def stand_back(nice: int) -> None:
    """Has an application that wakes up beside this process run at once: it has all the time, and a search has not."""
    if nice:
        with contextlib.suppress(OSError):  # a container may forbid it
            if hasattr(os, "sched_setscheduler"):
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            os.nice(nice)


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
