"""What `doctor` looks at. Each examination is on its own: one that fails does not hide the others.

Never shows a password, a user name of the database or a host of the dsn.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from .errors import RagledgerError
from .instrumentors import instrumentors
from .journal import directory as files
from .journal.salvage import strays
from .settings import config_home
from .waiting import is_alive, oldest_in, size_in, writers_in

if TYPE_CHECKING:
    from .postgres.connection import Connection
    from .wiring import Target

__all__ = ["Finding", "examine"]

_MEGABYTE = 1024 * 1024
_MANY_EPOCHS = 50
_OLD_S = 300.0
_NOT_RECORDED = "these records were not kept; what each reason asks for is in docs/operations.md"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the report."""

    level: Literal["ok", "warning", "problem"]
    about: str
    found: str
    advice: str = ""


def examine(target: Target) -> list[Finding]:
    """Everything, in the order in which a person would look."""
    return [
        *_machine(),
        *_key(target),
        *_writing(target),
        *_spans(target),
        *_journal(target),
        *_database(target),
    ]


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


def _writing(target: Target) -> Iterator[Finding]:
    chosen = target.settings
    if chosen.write == "direct":
        yield Finding(
            "ok", "write", "direct: every search waits for the table, at most 250 ms",
            "an outage refuses searches; where a directory survives the process, the journal does not",
        )  # fmt: skip
        return
    shipped = "a thread of the application" if chosen.ship == "thread" else "`ragledger ship --follow`"
    yield Finding("ok", "write", f"to the journal, shipped by {shipped}")
    # fsync came later than this line: an older journal has no mode.
    if (fsync := getattr(chosen, "journal_fsync", None)) is not None:
        yield Finding("ok", "journal_fsync", f"{fsync}; what a power loss may cost is in docs/operations.md")


def _spans(target: Target) -> Iterator[Finding]:
    chosen = target.settings
    names = ("span_document_ids", "span_query_text", "span_chunk_text", "span_feedback")
    switched = [name for name in names if getattr(chosen, name)]
    switched += [f"push to {name}" for name in chosen.push_targets]
    if switched:
        yield Finding("ok", "spans", f"{', '.join(switched)} on; docs/privacy.md says what that exports")
    for found in instrumentors(os.environ):
        about = f"instrumentor {found.distribution}"
        words = f"{found.version}, {'active here' if found.active else 'installed'}"
        if found.exports_text:
            yield Finding(
                "warning", about, f"{words}: its spans carry queries and chunks",
                f"{found.switches} stops that; exception messages are exported regardless, see docs/spans.md",
            )  # fmt: skip
        else:
            yield Finding(
                "ok", about, f"{words}: its texts are switched off, its exception messages are not",
                "a Collector can redact them, see docs/spans.md",
            )  # fmt: skip


def _journal(target: Target) -> Iterator[Finding]:
    path = target.journal_dir
    if not path.exists():
        yield _no_journal(path)
        return
    try:
        files.open_directory(path)
    except OSError as exc:
        yield Finding(
            "problem", "journal", f"the directory {path} cannot be used ({type(exc).__name__})",
            "searches are refused and counted until it belongs to this user and can be written",
        )  # fmt: skip
        return
    size, cap = size_in(path), target.settings.journal_cap_mb * _MEGABYTE
    yield Finding(
        "warning" if size > cap / 2 else "ok",
        "journal",
        f"{path}, {size / _MEGABYTE:.1f} of {cap / _MEGABYTE:.0f} MB",
        "past the cap records are refused; is the database taking records?" if size > cap / 2 else "",
    )
    yield from _writers_here(path)
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


def _no_journal(path: Path) -> Finding:
    above = next((parent for parent in path.parents if parent.exists()), path)
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return Finding("ok", "journal", "no journal yet: nothing was recorded for this database on this host")
    return Finding(
        "problem", "journal", f"the directory {path} cannot be made in {above}",
        "searches are refused and counted until it can; RAGLEDGER_JOURNAL_DIR names another place",
    )  # fmt: skip


def _writers_here(path: Path) -> Iterator[Finding]:
    writers = writers_in(path)
    live = [writer for writer in writers if is_alive(path, writer)]
    dead = [writer for writer in writers if writer not in live]
    yield Finding("ok", "writers on this host", f"{len(live)} live, {len(dead)} dead")
    yield _backlog(path, sum(writer.waiting for writer in writers), dead_wait=any(w.waiting for w in dead))
    if unfinished := sum(writer.unfinished for writer in dead):
        yield Finding(
            "warning", "unfinished", f"{unfinished} record(s) of processes that died inside an append",
            "no receipt was given for them; nothing can be done",
        )  # fmt: skip
    for project in sorted({writer.project for writer in writers}):
        refused = _sum_of(writer.refused for writer in writers if writer.project == project)
        if refused:
            yield Finding("problem", f"refused here, project {project}", _reasons(refused), _NOT_RECORDED)


def _backlog(path: Path, waiting: int, *, dead_wait: bool) -> Finding:
    if not waiting:
        return Finding("ok", "backlog", "no record waits")
    oldest_us = oldest_in(path)
    age_s = max(0.0, time.time() - oldest_us / 1e6) if oldest_us is not None else None
    words = f"{waiting} record(s) wait" + (
        f", the oldest for {_duration(age_s)}" if age_s is not None else ""
    )
    if age_s is not None and age_s > _OLD_S:
        return Finding(
            "warning", "backlog", words,
            "nobody ships, or the database takes nothing: see the findings on it below, then run `ragledger ship`",
        )  # fmt: skip
    advice = "`ragledger ship` takes what dead processes left to the table" if dead_wait else ""
    return Finding("warning" if dead_wait else "ok", "backlog", words, advice)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _sum_of(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for reason, number in each.items():
            total[reason] = total.get(reason, 0) + number
    return total


def _reasons(refused: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {number}" for reason, number in sorted(refused.items()))


def _database(target: Target) -> Iterator[Finding]:
    try:
        connection = target.connect(statement_timeout_s=10.0)
    except RagledgerError as exc:
        yield Finding("problem", "database", str(exc))
        return
    from .postgres.connection import translated

    with connection:
        yield from _rights(connection)
        yield from _texts(connection, target)
        connection.execute("RESET ROLE")  # the writer's role sees little of the table
        try:
            with translated():
                found = [*_fates(connection), *_writers(connection)]
        except RagledgerError:
            yield Finding(
                "warning",
                "table",
                "this user may not read its counters",
                "GRANT ragledger_collector to this user",
            )
        else:
            yield from found


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


def _texts(connection: Connection, target: Target) -> Iterator[Finding]:
    """As the role that records: whether texts that are handed over have a place."""
    from .sql import named_queries

    exists, may_write = connection.execute(named_queries("ship")["keeps_texts"]).fetchone() or (False, False)
    switch = "on" if target.settings.store_text else "off"
    if exists and may_write:
        yield Finding("ok", "texts", f"`search_texts` is there; RAGLEDGER_STORE_TEXT is {switch} here")
    elif exists:
        yield Finding(
            "problem" if target.settings.store_text else "warning",
            "texts", "`search_texts` is there and this user may not write to it: texts are rejected (no_text_right)",
            "`ragledger init --roles` as a user with CREATEROLE, then GRANT ragledger_writer to the login user",
        )  # fmt: skip
    elif target.settings.store_text:
        yield Finding(
            "problem", "texts", "RAGLEDGER_STORE_TEXT is on and there is no table for them: rejected (no_text_table)",
            "`ragledger init --with-text`, or switch it off; searches are recorded all the same",
        )  # fmt: skip


def _fates(connection: Connection) -> Iterator[Finding]:
    from .sql import named_queries

    rows = connection.execute(named_queries("look")["totals"]).fetchone()
    if rows is None:
        return
    written, pending, rejected, texts, epochs = (int(str(value)) for value in rows)
    yield Finding("ok", "table", f"{written} record(s) written, {pending} vote(s) pending")
    if rejected:
        yield Finding("problem", "rejected", f"{rejected} record(s)", "reasons are in the table `rejected`")
    if texts:
        yield Finding(
            "problem", "texts", f"{texts} record(s) of texts were rejected in the last day: an application says store_text",
            "`ragledger init --roles --with-text` keeps those to come; these are gone",
        )  # fmt: skip
    if epochs > _MANY_EPOCHS:
        yield Finding(
            "warning", "epochs", f"{epochs} epochs in the last day",
            "something that changes with every search is declared as a weight; see docs/data.md",
        )  # fmt: skip


def _writers(connection: Connection) -> Iterator[Finding]:
    """What the writers of every host told the table, by project."""
    from .sql import named_queries

    for row in connection.execute(named_queries("look")["by_project"]).fetchall():
        found = _Project(*row)  # type: ignore[arg-type]
        words = f"{found.open} writer(s) at work, {found.waiting} record(s) not shipped when last heard of"
        if found.unfinished:
            words += f", {found.unfinished} never finished because their process died"
        if found.silent:
            yield Finding(
                "warning", f"project {found.project}", f"{words}; {found.silent} silent for a day with records left",
                "run `ragledger ship` on their hosts, for as long as the journal directories are there",
            )  # fmt: skip
        else:
            yield Finding("ok", f"project {found.project}", words)
        if found.refused:
            yield Finding(
                "problem", f"refused, project {found.project}", _reasons(found.refused), _NOT_RECORDED
            )


class _Project(NamedTuple):
    project: str
    open: int
    waiting: int
    silent: int
    unfinished: int
    refused: dict[str, int] | None
