"""Says what is known about an embedded server without using, starting or changing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragledger.embedded.layout import locate
from ragledger.embedded.lease import FileLock
from ragledger.embedded.reasons import read_reason
from ragledger.errors import EmbeddedError

if TYPE_CHECKING:
    from pathlib import Path

    from ragledger.embedded.layout import Layout

__all__ = ["crash_hint", "status"]

_LOG_TAIL_BYTES = 256 * 1024


def status(base: Path | None = None) -> dict[str, object]:
    """What is known about the server of `base`; a plain dict for `--json`. How many use it is not known.

    `state` is "running", "starting" (or stopping: a keeper is there and no server answers) or "stopped".
    """
    layout = locate(base)
    try:
        kept = _is_kept(layout)
        facts = (layout.read_ready() or {}) if kept else {}
        version = facts.get("version") or layout.data_version()
        last_error = read_reason(layout) or None
        throwaway = layout.throwaway_mark.exists()
    except OSError as exc:
        raise EmbeddedError(f"{exc.filename or layout.base} cannot be read: {exc.strerror}") from exc
    return {
        "state": "running" if facts else "starting" if kept else "stopped",
        "running": bool(facts),
        "base": str(layout.base),
        "data": str(layout.data),
        "version": version,
        "throwaway": throwaway,
        "keeper_pid": facts.get("keeper_pid"),
        "postgres_pid": facts.get("postgres_pid"),
        "socket_dir": facts.get("socket_dir"),
        "users": None,
        "last_error": last_error,
        "log": str(layout.log),
    }


def crash_hint(base: Path | None = None) -> str | None:
    """One line about the last server process that died of SIGILL, which is how pgvector fails on an old processor."""
    try:
        with locate(base).log.open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - _LOG_TAIL_BYTES))
            text = log.read().decode(errors="replace")
    except OSError:
        return None
    found = re.findall(r"^(\S+ \S+).*terminated by signal 4: Illegal instruction", text, re.MULTILINE)
    if not found:
        return None
    return (
        f"a server process died of SIGILL at {found[-1]} UTC: this processor lacks instructions (AVX2) that the wheel's "
        "pgvector was compiled for; use a PostgreSQL server of your own (RAGLEDGER_DSN)"
    )


def _is_kept(layout: Layout) -> bool:
    if not layout.keeper_lock.exists():
        return False
    lock = FileLock(layout.keeper_lock)
    try:
        return not lock.take(shared=True)
    finally:
        lock.release()
