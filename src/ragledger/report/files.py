"""Writes a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from ragledger.errors import ConfigError

__all__ = ["refuse_early", "write_whole"]


def refuse_early(path: Path) -> None:
    """Says before the work what would fail after it.

    Raises:
        ConfigError: it is a folder, or lies in none that can be written to.
    """
    if path.is_dir() or not os.access(Path(os.path.realpath(path)).parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{path} cannot be written: no file, or no folder to write to")


def write_whole(path: Path, text: str) -> None:
    """Under another name first, then renamed. A new file is private; one that was there keeps who may read it.

    Raises:
        ConfigError: it cannot be written there; what was there before is as it was.
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    try:
        mode = path.stat().st_mode & 0o777
    except OSError:
        mode = 0o600
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written ({type(exc).__name__})") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        os.replace(name, path)
    except BaseException as exc:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(exc, OSError):
            raise ConfigError(f"{path} cannot be written ({type(exc).__name__})") from None
        raise
