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


def stand_back(nice: int) -> bool:
    """Has an application that wakes up beside this process run at once: it has all the time, and a search has not.

    Whether it is as nice as asked for. Being a batch process besides is a gift that some systems do not have.
    """
    if not nice:
        return True
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(OSError):  # a container may forbid it
        os.nice(nice)
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):  # musl has the name only
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    return os.getpriority(os.PRIO_PROCESS, 0) >= min(before + nice, 19)


def follow(shipper: Shipper, ending: Ending, every_s: float, ready_file: Path | None) -> None:
    """Ships until the ending; ready after a pass that the table took, and not while it takes none."""
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
