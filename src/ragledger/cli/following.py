"""The sidecar's loop: pass after pass until a signal, and who is told that it is ready."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import typer

from ragledger.errors import RagledgerError
from ragledger.shipper import Shipper

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
    with _Readiness(ready_file) as readiness:
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


class _Readiness:
    """Says to systemd and to whoever looks for the file that the table takes records; takes it back at the end."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._reached = False

    def __enter__(self) -> _Readiness:
        self._remove()  # of an earlier life
        return self

    def reach(self) -> None:
        if not self._reached:
            self._reached = True
            _notify("READY=1")
            if self._file is not None:
                self._file.touch()

    def __exit__(self, *_: object) -> None:
        _notify("STOPPING=1")
        self._remove()

    def _remove(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def _notify(state: str) -> None:
    """Tells systemd, where it asked to be told (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as client:
        try:
            client.sendto(state.encode(), address)
        except OSError as exc:
            typer.echo(f"ragledger ship: systemd cannot be told ({exc.strerror})", err=True)
