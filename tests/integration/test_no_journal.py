"""No journal can be made: refusals are counted in memory, and in `writers` as soon as the database is there (P5)."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database
from integration.shipping import run, wait_until

from ragledger import Ledger, schema
from ragledger.balance import WriterBalance, balances
from ragledger.journal.journal import Journal
from ragledger.testing import make_search

pytestmark = pytest.mark.pg

MakeLedger = Callable[..., Ledger]


@pytest.fixture(params=["a file in its place", "a read-only file system"])
def unusable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A place where no journal can be. Modes do not stop root, so a real mount does."""
    path = tmp_path / "journals"
    if request.param == "a file in its place":
        path.write_text("")
        yield path
        return
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("nothing may be mounted here")
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    path = tmp_path / "journals"
    path.write_text("")
    return path


def search(ledger: Ledger) -> Any:
    with ledger.search() as found:
        found.candidates()
    return found.receipt


def refusals(database: Database) -> list[dict[str, int]]:
    return [
        row[0] for row in database.rows("SELECT refused FROM writers WHERE refused <> '{}' ORDER BY refused")
    ]


def accounts(database: Database, directory: Path) -> list[WriterBalance]:
    with database.connect() as connection:
        return balances(connection, directory)


def test_p5_refusals_reach_the_table_and_the_sum_holds(
    make_ledger: MakeLedger, database: Database, unusable: Path
) -> None:
    ledger = make_ledger(journal_dir=unusable, strict=False)
    receipts = [search(ledger) for _ in range(3)]
    assert {(receipt.search_id, receipt.status, receipt.reason) for receipt in receipts} == {
        (None, "refused", "no_journal")
    }
    wait_until(lambda: refusals(database) == [{"no_journal": 3}])
    search(ledger)
    wait_until(lambda: refusals(database) == [{"no_journal": 4}])
    ledger.close()

    assert refusals(database) == [{"no_journal": 4}]
    [account] = accounts(database, unusable)
    assert (account.offered, account.refused, account.difference, account.faults) == (4, 4, 0, ())
    assert account.state == "finished"


def test_p5_what_was_refused_at_the_end_is_told_at_the_end(
    make_ledger: MakeLedger, database: Database, blocked: Path
) -> None:
    ledger = make_ledger(journal_dir=blocked, strict=False)
    for _ in range(5):
        search(ledger)
    ledger.close()
    assert refusals(database) == [{"no_journal": 5}]


def test_p5_they_are_counted_once_when_the_journal_comes_back(
    make_ledger: MakeLedger, database: Database, blocked: Path
) -> None:
    ledger = make_ledger(journal_dir=blocked, strict=False)
    refused = 1
    search(ledger)
    wait_until(lambda: refusals(database) == [{"no_journal": 1}])
    blocked.unlink()
    while search(ledger).status == "refused":  # it looks for its directory every few seconds
        refused += 1
        threading.Event().wait(0.05)
    assert ledger.flush()
    ledger.close()

    found = accounts(database, Path(ledger.facts()["journal"]))
    assert sum(account.refused for account in found) == refused
    assert sum(account.offered for account in found) == refused + 1
    assert sum(account.written for account in found) == 1
    assert [account.faults for account in found] == [(), ()]


def test_p5_they_wait_in_memory_for_the_database(
    make_ledger: MakeLedger, empty_database: Database, blocked: Path
) -> None:
    ledger = make_ledger(dsn=empty_database.dsn, journal_dir=blocked, strict=False)
    search(ledger)
    wait_until(lambda: ledger.facts()["shipper"]["last_error"] is not None)
    with empty_database.connect() as connection:
        schema.apply(connection, "ragledger")
    wait_until(lambda: refusals(empty_database) == [{"no_journal": 1}])


_FORKED = """
import os, sys, ragledger
ledger = ragledger.open()
def search():
    with ledger.search() as found:
        found.candidates()
search()
if not (child := os.fork()):
    search(), search()
    ledger.close()
    os._exit(0)
os.waitpid(child, 0)
ledger.close()
"""


def test_p5_a_forked_child_counts_for_itself(database: Database, blocked: Path) -> None:
    run(_FORKED, database.dsn, RAGLEDGER_JOURNAL_DIR=str(blocked))
    assert refusals(database) == [{"no_journal": 1}, {"no_journal": 2}]


def test_p5_threads_lose_no_count(blocked: Path) -> None:
    journal = Journal(blocked / "below", project="test", cap_bytes=1 << 20)
    record = make_search("a")
    threads = [threading.Thread(target=lambda: [journal.put(record) for _ in range(2000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journal.refused == {"no_journal": 16_000}
    assert os.path.isfile(blocked)
