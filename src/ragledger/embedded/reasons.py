"""Puts into one clear line why an embedded server did not start or stopped: what is wrong, and what to do."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragledger.embedded.layout import Layout

__all__ = ["clear_line", "explain", "read_reason", "start_failure"]

_REASONS = (
    (r"shared memory", "there is not enough shared memory for PostgreSQL: {line}"),
    (r"No space left on device", "the disk that holds {base} is full; free some space and start again"),
    (r"could not look up effective user ID", "the user id has no name, which PostgreSQL needs; add it to /etc/passwd"),
    (r"error while loading shared libraries", "the PostgreSQL programs are incomplete ({line}); reinstall with: "
     "pip install --force-reinstall 'ragledger[embedded]'"),
    (r"lock file .* already exists", "another PostgreSQL server uses {base}/data; stop it first"),
    (r"incompatible with server", "{base}/data was made by another PostgreSQL version; choose another base"),
    (r"has wrong ownership", "{base}/data belongs to another user; choose another base"),
    (r"has invalid permissions", "{base}/data is open to others; run: chmod 700 {base}/data"),
)  # fmt: skip
_LOG_BYTES = 16 * 1024


def read_reason(layout: Layout) -> str:
    """Why the last keeper ended; empty when it gave no reason."""
    facts = _facts(layout)
    if not facts:
        return ""
    if "program" in facts:
        return explain(
            facts["program"], facts["returncode"], _log_from(layout.log, facts["log_start"]), layout.base
        )
    if "errno" in facts:
        return clear_line(OSError(facts["errno"], os.strerror(facts["errno"]), facts["path"]), layout)
    return str(facts["message"])


def start_failure(layout: Layout) -> str:
    """Why the last keeper could not start the server; empty when it did, and the next one will too."""
    return "" if _facts(layout).get("served") else read_reason(layout)


def explain(program: str, returncode: int, log: str, base: Path) -> str:
    """Why `program` ended, from its exit code and what it wrote to the log."""
    if returncode == -signal.SIGILL:
        return (
            f"{program} was ended by SIGILL: this processor lacks instructions (AVX2) that the wheel was compiled for; "
            "use a PostgreSQL server of your own (RAGLEDGER_DSN)"
        )
    lines = [
        line for line in log.splitlines() if re.search(r"FATAL:|PANIC:|error:|error while loading", line)
    ]
    line = re.sub(r"^.*?(FATAL|PANIC): +", "", lines[-1]).strip() if lines else ""
    for pattern, reason in _REASONS:
        if re.search(pattern, "\n".join(lines)):
            return reason.format(line=line, base=base)
    how = f"by signal {-returncode}" if returncode < 0 else f"with exit code {returncode}"
    return f"{program} ended {how}: {line or 'it gave no reason'}; see {base}/server.log"


def clear_line(exc: OSError, layout: Layout) -> str:
    """What a refusal of the operating system means for the user."""
    if exc.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"the disk that holds {layout.base} is full; free some space and start again"
    return f"{exc.filename or layout.base}: {exc.strerror}; choose another base (RAGLEDGER_HOME)"


def _facts(layout: Layout) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads(layout.error.read_bytes())
    except (FileNotFoundError, ValueError):  # no keeper yet, or still the blanks that its starter wrote
        return {}
    return facts


def _log_from(path: Path, start: int) -> str:
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            # The keeper empties a log that has grown too long.
            log.seek(max(start if start <= size else 0, size - _LOG_BYTES))
            return log.read().decode(errors="replace")
    except OSError:
        return ""
