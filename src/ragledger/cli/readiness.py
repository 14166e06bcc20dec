"""Who is told that a command that runs on is ready: systemd, and whoever looks for a file."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import typer

__all__ = ["Readiness"]


class Readiness:
    """Says so, and takes it back at the end. systemd hears of it once; the file comes and goes."""

    def __init__(self, program: str, file: Path | None) -> None:
        self._program = program
        self._file = file
        self._reached = False

    def __enter__(self) -> Readiness:
        self._remove()  # of an earlier life
        return self

    def reach(self) -> None:
        """It is ready."""
        if not self._reached:
            self._reached = True
            self._notify("READY=1")
        if self._file is not None:
            self._file.touch()

    def lose(self) -> None:
        """It is not ready now."""
        self._remove()

    def __exit__(self, *_: object) -> None:
        self._notify("STOPPING=1")
        self._remove()

    def _remove(self) -> None:
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _notify(self, state: str) -> None:
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
                typer.echo(f"{self._program}: systemd cannot be told ({exc.strerror})", err=True)
