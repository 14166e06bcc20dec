"""`verify --writers` after retention and erasure: what was removed is known by number, and nothing else is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from fix_pg import Database
from integration.shipping import World
from typer.testing import CliRunner

from ragledger.balance import WriterBalance, balances
from ragledger.cli.app import app
from ragledger.ids import new_id
from ragledger.testing import make_search, make_vote

pytestmark = pytest.mark.pg

# What retention and erasure do, as docs/data.md says it: rows and their numbers go in one transaction.
_ERASE = """
WITH doomed AS (SELECT search_id FROM searches WHERE corpus = %(corpus)s),
f AS (DELETE FROM feedback USING doomed WHERE feedback.search_id = doomed.search_id RETURNING writer_id, writer_seq),
h AS (DELETE FROM hits USING doomed WHERE hits.search_id = doomed.search_id),
s AS (DELETE FROM searches USING doomed WHERE searches.search_id = doomed.search_id RETURNING writer_id, writer_seq),
gone AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers
    FROM (SELECT * FROM f UNION ALL SELECT * FROM s) AS rows GROUP BY writer_id
)
UPDATE writers w SET removed = w.removed + gone.numbers FROM gone WHERE gone.writer_id = w.writer_id
"""
_ERASE_PENDING = """
WITH gone AS (DELETE FROM pending_feedback RETURNING writer_id, writer_seq)
UPDATE writers w
SET landed = w.landed + int8multirange(int8range(writer_seq, writer_seq, '[]')),
    removed = w.removed + int8multirange(int8range(writer_seq, writer_seq, '[]'))
FROM gone WHERE gone.writer_id = w.writer_id
"""


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    """Two writers: one with ten searches (every second of them to be erased) and votes on two, one with a pending vote."""
    made = World(database)
    first, second = made.journal(), made.journal()
    searches = [make_search("a", corpus="old" if n % 2 else "new") for n in range(10)]
    for search in searches:
        first.put(search)
    for search in searches[:2]:
        first.put(make_vote(search.search_id))
    second.put(make_search("b", corpus="old"))
    second.put(make_vote(new_id(), checked=False))
    made.ship()
    yield made
    for journal in made.journals:
        journal.release()


@pytest.fixture
def account(world: World) -> Callable[[], list[WriterBalance]]:
    def read() -> list[WriterBalance]:
        with world.database.connect() as connection:
            return sorted(balances(connection, world.directory), key=lambda balance: -balance.offered)

    return read


Account = Callable[[], list[WriterBalance]]


def run(world: World, *statements: str) -> None:
    with world.database.connect() as connection, connection.transaction():
        for statement in statements:
            connection.execute(statement, {"corpus": "old"})


def writer_of(world: World, number: int) -> UUID:
    writer = world.journals[number].writer
    assert writer is not None
    return writer.writer_id


def test_p5_what_erasure_took_is_removed_and_everything_still_adds_up(world: World, account: Account) -> None:
    before = account()
    run(world, _ERASE, _ERASE_PENDING)
    first, second = account()

    assert (first.offered, first.written, first.removed, first.faults) == (12, 12, 6, ())
    assert (second.offered, second.written, second.pending, second.removed, second.faults) == (2, 2, 0, 2, ())
    assert [balance.offered for balance in before] == [12, 2]
    assert (first.difference, second.difference) == (0, 0)


def test_p5_what_is_recorded_after_an_erasure_is_counted_as_ever(world: World, account: Account) -> None:
    run(world, _ERASE)
    world.journals[0].put(make_search("c"))
    world.ship()
    first, _ = account()
    assert (first.offered, first.written, first.removed, first.faults) == (13, 13, 6, ())


def test_p5_erasing_twice_changes_nothing(world: World, account: Account) -> None:
    run(world, _ERASE)
    once = account()
    run(world, _ERASE)
    assert account() == once


@pytest.mark.parametrize(
    ("tamper", "fault"),
    [
        ("DELETE FROM searches WHERE writer_seq = 3", "numbers whose rows are gone: {[3,4)}"),
        (
            "UPDATE writers SET removed = removed + '{[3,4)}' WHERE attempted = 12",
            "rows whose numbers are not accounted for: {[3,4)}",
        ),
        (
            "UPDATE writers SET removed = removed + '{[40,42)}' WHERE attempted = 12",
            "numbers removed that never landed: {[40,42)}",
        ),
        (
            "UPDATE writers SET removed = '{}' WHERE attempted = 12",
            "numbers whose rows are gone: {[2,3),[4,5),[6,7),[8,9),[10,11),[12,13)}",
        ),
        ("UPDATE writers SET landed = landed - removed", "numbers without a fate: {[2,3)"),
        ("UPDATE searches SET writer_seq = 2 WHERE writer_seq = 3", "not accounted for: {[2,3)}"),
        ("DELETE FROM pending_feedback", "numbers without a fate: {[2,3)}"),
    ],
)
def test_p5_a_gap_or_an_overlap_beside_what_was_removed_is_named(
    world: World, account: Account, tamper: str, fault: str
) -> None:
    run(world, _ERASE, tamper)
    assert fault in "\n".join(fault for balance in account() for fault in balance.faults)


def test_p5_rows_of_a_writer_that_the_table_forgot_are_named(world: World, account: Account) -> None:
    writer = writer_of(world, 0)
    for journal in world.journals:
        journal.release()
    world.ship()
    run(world, _ERASE, "DELETE FROM writers WHERE attempted = 12")
    [found] = [balance for balance in account() if balance.faults]
    assert found.writer_id == writer
    assert found.faults == (
        "rows whose numbers are not accounted for: {[1,2),[3,4),[5,6),[7,8),[9,10),[11,12)}",
    )


def test_p5_the_command_shows_what_was_removed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run(world, _ERASE)
    monkeypatch.setenv("RAGLEDGER_DSN", world.database.dsn)
    done = CliRunner().invoke(app, ["verify", "--writers"])
    assert done.exit_code == 0, done.output
    assert "14 offered = 13 written" in done.stdout
    assert "(7 removed)" in done.stdout
    found = json.loads(CliRunner().invoke(app, ["verify", "--writers", "--json"]).stdout)
    assert sorted(balance["removed"] for balance in found) == [1, 6]
