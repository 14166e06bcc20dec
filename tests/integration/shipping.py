"""Journals that are shipped to a real table, and the sum of promise P5."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest
from fix_pg import Database

from ragledger.journal import directory as files
from ragledger.journal.backlog import Backlog
from ragledger.journal.journal import Journal
from ragledger.journal.state import WriterState
from ragledger.shipper import Shipper
from ragledger.wiring import Target, target_from

RAGLEDGER = (sys.executable, "-c", "from ragledger.cli import main; main()")


SEARCH = """
import atexit, os, signal, sys, time
import ragledger
from ragledger import Candidate

def search(ledger, chunk="a"):
    with ledger.search(corpus="c") as found:
        found.candidates(Candidate(chunk, score=0.5))
    os.write(1, f"{found.receipt.search_id}\\n".encode())
    assert found.receipt.search_id is not None
"""
"""A program's first lines: each search prints the receipt that it was given."""


def ids(output: str) -> list[UUID]:
    """The receipts that such a program printed."""
    return [UUID(line) for line in output.split()]


class World:
    """One target: its table, its journal directory, and journals that write there."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.target: Target = target_from(dsn=database.dsn, project="test")
        self.directory = self.target.journal_dir
        self.journals: list[Journal] = []

    def journal(self) -> Journal:
        self.journals.append(Journal(self.directory, project="test", cap_bytes=1 << 30))
        return self.journals[-1]

    def shipper(self, **options: Any) -> Shipper:
        return Shipper(self.directory, self.target.connect, **options)

    def ship(self, **options: Any) -> Shipper:
        """One pass over everything, live writers too; the shipper with its counters."""
        shipper = self.shipper(live_writers=True, **options)
        try:
            shipper.ship()
        finally:
            shipper.close()
        return shipper

    def stored(self) -> list[UUID]:
        return [row[0] for row in self.database.rows("SELECT search_id FROM searches ORDER BY writer_seq")]

    def rejected(self) -> dict[int, str]:
        return dict(self.database.rows("SELECT writer_seq, reason FROM rejected"))  # type: ignore[arg-type]


class Fates(NamedTuple):
    """Where every record of one writer ended."""

    offered: int
    written: int
    waiting: int
    pending: int
    rejected: int
    refused: int
    unfinished: int


_SEQUENCES = """
SELECT writer_seq FROM searches WHERE writer_id = %s
UNION ALL SELECT writer_seq FROM deliveries WHERE writer_id = %s
UNION ALL SELECT writer_seq FROM assessments WHERE writer_id = %s
UNION ALL SELECT writer_seq FROM feedback WHERE writer_id = %s
"""


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    """Journals beside a database of their own."""
    made = World(database)
    yield made
    for journal in made.journals:
        journal.release()


def fates(database: Database, directory: Path) -> dict[UUID, Fates]:
    """Of every writer, from the table and the journal directory, each number accounted for exactly once.

    Numbers that were given out and are in no place at all are unfinished; one that is in two places, or in a table
    and not in `landed`, fails here.
    """
    known: dict[UUID, tuple[int, int, int]] = {
        row[0]: row[1:]
        for row in database.rows(
            "SELECT writer_id, attempted, shipped,"
            " (SELECT coalesce(sum(v::int8), 0)::int8 FROM jsonb_each_text(refused) AS r(k, v)) FROM writers"
        )
    }
    here = {UUID(path.stem): path for path in files.locks(directory)}
    return {
        writer: _fates_of(database, writer, known.get(writer), here.get(writer)) for writer in known | here
    }


def _fates_of(
    database: Database, writer: UUID, known: tuple[int, int, int] | None, path: Path | None
) -> Fates:
    attempted, shipped, refused = known or (0, 0, 0)
    waiting: list[int] = []
    if path is not None and (state := WriterState.peek(path)) is not None:
        attempted, refused = state.attempted, sum(state.refused.values())
        batch = Backlog(path.parent, state, shipped=shipped, live=True).next_batch(1_000_000)
        waiting = [frame.number for frame in batch.frames] if batch is not None else []
        state.close()
    written = [row[0] for row in database.rows(_SEQUENCES, writer, writer, writer, writer)]
    pending = [
        row[0]
        for row in database.rows("SELECT writer_seq FROM pending_feedback WHERE writer_id = %s", writer)
    ]
    rejected = [
        row[0] for row in database.rows("SELECT writer_seq FROM rejected WHERE writer_id = %s", writer)
    ]
    landed = [
        number
        for lower, upper in database.rows(
            "SELECT lower(r), upper(r) FROM writers w, unnest(w.landed) AS r WHERE writer_id = %s", writer
        )
        for number in range(lower, upper)
    ]
    assert sorted(written) == landed
    everywhere = written + waiting + pending + rejected
    assert len(set(everywhere)) == len(everywhere), "a number in two places"
    assert set(everywhere) <= set(range(1, attempted + 1))
    return Fates(
        offered=attempted + refused,
        written=len(written),
        waiting=len(waiting),
        pending=len(pending),
        rejected=len(rejected),
        refused=refused,
        unfinished=attempted - len(everywhere),
    )


def balanced(database: Database, directory: Path, *, unfinished: int = 0) -> Fates:
    """The sum over all writers; fails when more than `unfinished` numbers have no fate."""
    found = [Fates(*map(int, each)) for each in fates(database, directory).values()]
    total = Fates(*(sum(each[field] for each in found) for field in range(len(Fates._fields))))
    assert total.unfinished <= unfinished
    assert total.offered == sum(total[1:])
    return total


def encode(record: msgspec.Struct) -> bytes:
    return msgspec.msgpack.Encoder(uuid_format="bytes").encode(record)


def run(
    code: str, dsn: str, *arguments: str, check: bool = True, **environ: str
) -> subprocess.CompletedProcess[str]:
    """A Python program with the target in its environment."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=100,  # above the 60 s that a flush may take, so that the program says what failed
        check=False,
        env=dict(os.environ) | {"RAGLEDGER_DSN": dsn, "RAGLEDGER_PROJECT": "test"} | environ,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def ship_command(dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`ragledger ship`."""
    return subprocess.run(
        [*RAGLEDGER, "ship", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ) | {"RAGLEDGER_DSN": dsn},
    )


def wait_until(true: Callable[[], object], timeout_s: float = 60.0) -> None:
    import time

    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
