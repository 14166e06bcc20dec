"""What `doctor` looks at. Each examination is on its own: one that fails does not hide the others.

Never shows a password, a user name of the database or a host of the dsn.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import msgspec

from .errors import RagledgerError
from .journal import directory as files
from .journal.salvage import strays
from .journal.state import WriterState, lock_is_free
from .settings import config_home

if TYPE_CHECKING:
    from .postgres.connection import Connection
    from .wiring import Target

__all__ = ["Finding", "examine"]

_MEGABYTE = 1024 * 1024
_MANY_EPOCHS = 50


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the report."""

    level: Literal["ok", "warning", "problem"]
    about: str
    found: str
    advice: str = ""


def examine(target: Target) -> list[Finding]:
    """Everything, in the order in which a person would look."""
    return [*_machine(), *_key(target), *_journal(target), *_database(target)]


def _machine() -> Iterator[Finding]:
    system = platform.system()
    level: Literal["ok", "warning"] = "ok" if system == "Linux" else "warning"
    yield Finding(level, "platform", f"{system}, Python {platform.python_version()}")
    from .embedded import cpu_supports_pgvector

    if cpu_supports_pgvector() is False:
        yield Finding(
            "warning",
            "processor",
            "no AVX2",
            "the embedded server's pgvector needs it; the telemetry tables do not",
        )


def _key(target: Target) -> Iterator[Finding]:
    if target.settings.key is not None:
        yield Finding("ok", "key", "from RAGLEDGER_KEY")
    elif (config_home(os.environ) / "key").exists():
        yield Finding(
            "ok", "key", "from this host's key file",
            "set RAGLEDGER_KEY on every host, or ids derived from content differ between them",
        )  # fmt: skip
    else:
        yield Finding("warning", "key", "none yet", "`ragledger init` makes one, or set RAGLEDGER_KEY")


def _journal(target: Target) -> Iterator[Finding]:
    path = target.journal_dir
    if not path.exists():
        yield Finding("ok", "journal", "no journal yet: nothing was recorded for this database on this host")
        return
    try:
        files.open_directory(path)
    except OSError as exc:
        yield Finding(
            "problem", "journal", f"the directory {path} cannot be used ({type(exc).__name__})",
            "searches are refused and counted until it belongs to this user and can be written",
        )  # fmt: skip
        return
    size, cap = files.size_of(path), target.settings.journal_cap_mb * _MEGABYTE
    yield Finding(
        "warning" if size > cap / 2 else "ok",
        "journal",
        f"{path}, {size / _MEGABYTE:.1f} of {cap / _MEGABYTE:.0f} MB",
        "past the cap records are refused; is the database taking records?" if size > cap / 2 else "",
    )
    yield from _writers_here(target)
    if found := strays(path):
        yield Finding(
            "problem", "unreadable", f"{len(found)} writer(s): {', '.join(sorted({stray.why for stray in found}))}",
            "`ragledger ship` mends what can be mended and says what cannot",
        )  # fmt: skip
    rejected = sorted(path.glob("*.rejected"))
    if rejected:
        yield Finding(
            "problem", "rejected", f"{len(rejected)} file(s) with records that the database refused",
            "this is a bug of ragledger; the files hold ids and numbers, no text",
        )  # fmt: skip


def _writers_here(target: Target) -> Iterator[Finding]:
    live = dead = waiting = 0
    refused: dict[str, int] = {}
    for path in files.locks(target.journal_dir):
        state = WriterState.peek(path)
        if state is None:
            continue
        waiting += state.published - state.shipped
        for reason, number in state.refused.items():
            refused[reason] = refused.get(reason, 0) + number
        state.close()
        if lock_is_free(path):
            dead += 1
        else:
            live += 1
    words = f"{live} live, {dead} dead; {waiting} record(s) wait"
    advice = "`ragledger ship` takes them to the table" if dead and waiting else ""
    yield Finding("warning" if advice else "ok", "writers on this host", words, advice)
    if refused:
        reasons = ", ".join(f"{reason}: {number}" for reason, number in sorted(refused.items()))
        yield Finding(
            "problem", "refused", reasons, "these searches were not recorded; see docs/operations.md"
        )


def _database(target: Target) -> Iterator[Finding]:
    try:
        connection = target.connect(statement_timeout_s=10.0)
    except RagledgerError as exc:
        yield Finding("problem", "database", str(exc))
        return
    with connection:
        yield from _rights(connection)
        yield from _fates(connection)


def _rights(connection: Connection) -> Iterator[Finding]:
    from .postgres.connection import acting_as
    from .schema import latest_version

    version = connection.info.server_version
    yield Finding("ok", "database", f"PostgreSQL {version // 10000}, schema version {latest_version()}")
    role = acting_as(connection)
    if role == "ragledger_writer":
        yield Finding("ok", "role", "records as ragledger_writer: no update, no delete")
    else:
        yield Finding(
            "warning", "role", "records with the rights of its login user, not as ragledger_writer",
            "`ragledger init --roles` as a user with CREATEROLE, then GRANT ragledger_writer to the login user",
        )  # fmt: skip


def _fates(connection: Connection) -> Iterator[Finding]:
    from .sql import named_queries

    connection.execute("RESET ROLE")
    rows = connection.execute(named_queries("look")["totals"]).fetchone()
    if rows is None:
        return
    written, pending, rejected, epochs = (int(str(value)) for value in rows)
    yield Finding("ok", "table", f"{written} record(s) written, {pending} vote(s) pending")
    if rejected:
        yield Finding("problem", "rejected", f"{rejected} record(s)", "reasons are in the table `rejected`")
    if epochs > _MANY_EPOCHS:
        yield Finding(
            "warning", "epochs", f"{epochs} epochs in the last day",
            "something that changes with every search is declared as a weight; see docs/data.md",
        )  # fmt: skip
