"""The secret that keys every hash: from the environment, else a private file that is made once per host."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import ConfigError

__all__ = ["load_key"]

_LONGEST = 64  # blake2b takes no more
_SHORTEST = 16


def load_key(given: bytes | None, home: Path) -> bytes:
    """The key. Derived ids are equal on two hosts only when both have the same one.

    Raises:
        ConfigError: the key is too short, or its file cannot be trusted.
    """
    if given is not None:
        if len(given) < _SHORTEST:
            raise ConfigError(
                "RAGLEDGER_KEY must have at least 16 bytes; `openssl rand -hex 32` makes a good one"
            )
        return given[:_LONGEST]
    path = home / "key"
    try:
        return _from_file(path)
    except FileNotFoundError:
        return _make(path)
    except OSError as exc:
        raise ConfigError(
            f"the key file {path} cannot be read ({type(exc).__name__}); set RAGLEDGER_KEY"
        ) from None


def _from_file(path: Path) -> bytes:
    found = path.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ConfigError(f"the key file {path} must belong to this user and be private: chmod 600")
    key = path.read_bytes().strip()
    if len(key) < _SHORTEST:
        raise ConfigError(f"the key file {path} is too short; remove it to have a new one made")
    return key[:_LONGEST]


def _make(path: Path) -> bytes:
    """Makes the file whole under another name first, so that no other process reads half a key."""
    key = os.urandom(32).hex().encode()
    hidden = path.with_name(f".key-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb") as file:
                file.write(key)
            os.link(hidden, path)
        except FileExistsError:
            return _from_file(path)
        finally:
            hidden.unlink()
    except OSError:
        # A read-only home: the key lives as long as the process, and `doctor` says so.
        return key
    return key
