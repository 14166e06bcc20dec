"""Prepares a base directory and starts its keeper. Called only by a process that has locked `keeper.lock`."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ragledger.embedded.binaries import choose_version, programs_for
from ragledger.embedded.layout import Account, Layout, name_of, server_account
from ragledger.errors import EmbeddedError

if TYPE_CHECKING:
    from ragledger.embedded.lease import FileLock

__all__ = ["PORT", "check_throwaway", "start_keeper"]

PORT = 5432
_BLANK = b" " * 1024
# The keeper outlives its starter: it gets what loading programs may need, and no other variable of the application.
_ENVIRONMENT = (
    "PATH",
    "HOME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
    "NSS_WRAPPER_PASSWD",
    "NSS_WRAPPER_GROUP",
)


def start_keeper(layout: Layout, lock: FileLock, *, version: int | None, throwaway: bool) -> None:
    """Start a keeper that takes over `lock`; returns when it is on its way, not when the server answers."""
    with contextlib.suppress(FileNotFoundError):
        layout.ready.unlink()
    layout.error.write_bytes(_BLANK)
    account = server_account()
    chosen = choose_version(layout, version)
    if layout.data.exists():
        _check_data(layout, account)
        check_throwaway(layout, made_throwaway=layout.throwaway_mark.exists(), wanted=throwaway)
    other = account.uid != os.geteuid()
    spec = {
        "base": str(layout.base),
        "bin": str(programs_for(layout, chosen, account)),
        "socket_dir": str(layout.prepare_socket_directory(account)),
        "port": PORT,
        "version": chosen,
        "throwaway": throwaway,
        "uid": account.uid if other else None,
        "gid": account.gid if other else None,
        "linger_s": _linger_s(),
    }
    _spawn(layout, lock, spec)


def check_throwaway(layout: Layout, *, made_throwaway: bool, wanted: bool) -> None:
    """Refuse to keep data in a server that may lose it."""
    if made_throwaway and not wanted:
        raise EmbeddedError(
            f"{layout.base} was made as a throw-away server, which can lose data; choose another base, "
            "or pass throwaway=True"
        )


def _spawn(layout: Layout, lock: FileLock, spec: dict[str, object]) -> None:
    if not sys.executable:
        raise EmbeddedError(
            "the embedded PostgreSQL needs a Python program to run its keeper, and there is none"
        )
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")), json.dumps(spec)]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with (
        os.fdopen(os.open(layout.log, flags, 0o600), "ab") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env={"LC_ALL": "C", **{name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}},
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        ) as starter,
    ):
        # It forks the keeper and ends at once, so that nobody has to wait for the keeper later.
        code = starter.wait()
    if code != 0:
        raise EmbeddedError(f"the keeper of the embedded PostgreSQL did not start; see {layout.log}")


def _check_data(layout: Layout, account: Account) -> None:
    owner = layout.data.stat().st_uid
    if owner != account.uid:
        raise EmbeddedError(
            f"{layout.data} belongs to user {name_of(owner)}, and PostgreSQL would run as {account.name}; "
            f"choose another base, or run: chown -R {account.name} {layout.data}"
        )


def _linger_s() -> float:
    text = os.environ.get("RAGLEDGER_EMBEDDED_LINGER_S", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise EmbeddedError(f"RAGLEDGER_EMBEDDED_LINGER_S must be a number of seconds, not {text!r}")
    return seconds
