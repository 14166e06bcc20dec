"""Every implementation of `ports.Backend`, each with what it has kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from fix_pg import Database

from ragledger.direct import Direct
from ragledger.journal.journal import Journal
from ragledger.journalled import Journalled
from ragledger.ports import Backend
from ragledger.postgres.connection import connect
from ragledger.shipper import Shipper
from ragledger.testing import MemoryBackend


@dataclass
class Subject:
    """A backend, how to ask what has arrived, and how to make it refuse."""

    backend: Backend
    stored: Callable[[], list[UUID]]
    refuse: Callable[[], str]
    """Makes it refuse from now on; gives the reason."""


def memory(_database: Database, _directory: Path) -> Subject:
    backend = MemoryBackend()

    def refuse() -> str:
        backend.refusal = "cap"
        return "cap"

    return Subject(backend, lambda: [row.search_id for row in backend.searches], refuse)


def journalled(database: Database, directory: Path) -> Subject:
    reach = partial(connect, database.dsn, "ragledger")

    def make_shipper() -> Shipper:
        return Shipper(directory, reach)

    backend = Journalled(Journal(directory, project="test", cap_bytes=1 << 28), make_shipper)

    def refuse() -> str:
        backend.journal.release()
        backend.journal.directory = directory / "a file"
        backend.journal.directory.write_text("in the way")
        return "no_journal"

    return Subject(backend, partial(_stored, database), refuse)


def direct(database: Database, _directory: Path) -> Subject:
    backend = Direct(
        partial(connect, database.dsn, "ragledger", statement_timeout_s=5.0),
        project="test",
        vote_deadline_h=24.0,
    )

    def refuse() -> str:
        backend.close(5)
        return "closed"

    return Subject(backend, partial(_stored, database), refuse)


def _stored(database: Database) -> list[UUID]:
    return [row[0] for row in database.rows("SELECT search_id FROM searches ORDER BY writer_seq")]


MAKERS: dict[str, Callable[[Database, Path], Subject]] = {
    "memory": memory,
    "journalled": journalled,
    "direct": direct,
}


def wait_until_it_takes(subject: Subject, record: Any) -> None:
    """Its first record, however long a loaded machine lets a connection take."""
    import time

    deadline = time.monotonic() + 60
    while (refusal := subject.backend.put(record)) is not None:
        assert refusal in {"timeout", "no_database", "fate_unknown"}, refusal
        assert time.monotonic() < deadline
        if refusal == "fate_unknown":
            assert subject.backend.drain(60)
            return
        time.sleep(0.05)
