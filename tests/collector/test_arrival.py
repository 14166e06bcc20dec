"""What is new is told by numbers, not by clocks: nothing slips past, and what arrives late opens its bucket again."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from collector_world import arrive, collect, forget, rollups, verified
from fix_pg import Database
from integration.shipping import World
from measures.table_rows import START, TableRows, hit

from ragledger import schema
from ragledger.errors import CollectorBusy
from ragledger.ids import new_id
from ragledger.removal import _first_id_at, remove_searches, remove_votes, retain
from ragledger.testing import make_search, make_vote
from ragledger_collector import Collector, Passed

pytestmark = pytest.mark.pg


def in_order(database: Database) -> None:
    """Nothing differs, nothing waits, and it is as if all had been counted at once."""
    found = verified(database)
    assert (found.differing, found.waiting) == ((), 0)
    before = rollups(database)
    forget(database)
    collect(database)
    assert rollups(database) == before


def counts(database: Database, table: str = "rollup_searches", column: str = "searches") -> dict[str, int]:
    return dict(database.rows(f"SELECT grain, sum({column})::int FROM {table} GROUP BY 1"))  # type: ignore[arg-type]


def test_a_transaction_that_stays_open_over_two_passes_is_counted_after_its_commit(
    database: Database,
) -> None:
    """Its rows have older timestamps and smaller ids than what was committed, looked at and counted meanwhile."""
    slow, quick = TableRows(), TableRows()
    slow.search(hit(), search_id=UUID(int=1), started_at=START)
    quick.search(hit(), search_id=UUID(int=2), started_at=START + timedelta(seconds=1))
    quick.rows["searches"][0]["writer_id"] = UUID(int=7)
    with database.connect() as shipper, database.connect() as other:
        with shipper.transaction():
            arrive(shipper, slow)
            arrive(other, quick)
            assert collect(database).minutes == 1
            quick.search(hit(), search_id=UUID(int=3), started_at=START + timedelta(minutes=1))
            quick.rows["searches"][0] |= {"writer_id": UUID(int=7), "writer_seq": 99}
            arrive(other, quick)
            assert collect(database).minutes == 1
            assert counts(database)["day"] == 2
        assert verified(database).waiting == 1
        assert collect(database).minutes == 1
    assert counts(database) == {"minute": 3, "hour": 3, "day": 3}
    in_order(database)


def test_what_one_snapshot_does_not_see_the_next_does(database: Database) -> None:
    """A removal that commits while a pass has its snapshot leaves a mark that the pass does not take along."""
    rows = TableRows()
    ids = [rows.search(hit(), started_at=START) for _ in range(2)]
    with database.connect() as connection, database.connect(role="ragledger_collector") as collecting:
        arrive(connection, rows)
        list(remove_searches(connection, []))
        collector = Collector(collecting)
        list(collector._look_at_arrivals())
        steps = collector._steps
        recompute = steps._recompute

        def meanwhile(project: str, minutes: Any) -> None:
            list(remove_searches(connection, ids[:1]))
            recompute(project, minutes)

        steps._recompute = meanwhile  # type: ignore[method-assign]
        computed = collector._compute_minutes(lambda: False)
        assert next(computed) == Passed(minutes=1)
        assert counts(database)["minute"] == 2
        steps._recompute = recompute  # type: ignore[method-assign]
        assert next(computed) == Passed(minutes=1)
    assert counts(database)["minute"] == 1
    collect(database)
    in_order(database)


def test_a_late_attempt_takes_the_place_of_the_earlier_one_in_another_bucket(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        first = rows.search(hit(), started_at=START, status="error")
        arrive(connection, rows)
        collect(database)
        again = rows.search(hit(), started_at=START + timedelta(hours=30), attempt_of=first)
        arrive(connection, rows)
        assert collect(database).minutes == 2
        assert counts(database, column="error") == {"minute": 0, "hour": 0, "day": 0}
        in_order(database)
        list(remove_searches(connection, [again]))
        assert collect(database).minutes == 2
    assert counts(database, column="error") == {"minute": 1, "hour": 1, "day": 1}
    in_order(database)


def test_when_the_last_of_three_attempts_is_erased_the_second_counts(database: Database) -> None:
    rows = TableRows()
    first = rows.search(status="error", started_at=START)
    rows.search(status="cancelled", started_at=START + timedelta(minutes=1), attempt_of=first)
    last = rows.search(hit(), started_at=START + timedelta(minutes=2), attempt_of=first)
    with database.connect() as connection:
        arrive(connection, rows)
        collect(database)
        list(remove_searches(connection, [last]))
    collect(database)
    assert counts(database, column="cancelled")["day"] == counts(database)["day"] == 1
    in_order(database)


def test_votes_that_are_erased_are_counted_no_more(database: Database) -> None:
    rows = TableRows()
    search = rows.search(hit())
    rows.vote(search, 1, "relevant", by="human:ana")
    rows.vote(search, 1, "not_relevant", by="human:ben")
    with database.connect() as connection:
        arrive(connection, rows)
        collect(database)
        assert database.rows("SELECT DISTINCT useful::float, judged FROM rollup_votes") == [(0.5, 1)]
        remove_votes(connection, ("human", ("ben",)))
    collect(database)
    assert database.rows("SELECT DISTINCT useful::float, judged FROM rollup_votes") == [(1.0, 1)]
    in_order(database)


def test_a_pending_vote_is_counted_when_its_search_has_come(world: World, database: Database) -> None:
    search = make_search("a", "b")
    votes, searches = world.journal(), world.journal()
    votes.put(make_vote(search.search_id, None, "b", checked=False))
    world.ship()
    assert collect(database).minutes == 0
    searches.put(search)
    world.ship()
    world.ship()
    collect(database)
    assert counts(database, "rollup_votes", "judged")["day"] == 1
    in_order(database)


def test_late_votes_and_deliveries_open_their_bucket_again_and_no_other(
    world: World, database: Database
) -> None:
    search, other = make_search("a", "b"), make_search("a", started_at=1_700_000_000_000_000 + 3_600_000_000)
    journal = world.journal()
    journal.put(search)
    journal.put(other)
    world.ship()
    assert collect(database).minutes == 2
    assert collect(database).minutes == 0
    journal.put(make_vote(search.search_id))
    world.ship()
    assert collect(database).minutes == 1
    journal.put(make_vote(search.search_id, outcome="not_relevant", given_at=1_800_000_000_000_000))
    world.ship()
    assert collect(database).minutes == 1
    assert database.rows("SELECT DISTINCT useful, judged FROM rollup_votes") == [(0, 1)]
    in_order(database)


def test_retention_seals_and_what_was_counted_stays(world: World, database: Database) -> None:
    now = datetime.now(timezone.utc)
    old, young = now - timedelta(days=9), now - timedelta(days=1)
    journal = world.journal()
    for moment in (old, old, young):
        search = make_search("a", search_id=new_at(moment), started_at=int(moment.timestamp() * 1e6))
        journal.put(search)
    world.ship()
    collect(database)
    before = rollups(database)
    with database.connect() as connection:
        list(retain(connection, now - timedelta(days=2)))
    passed = collect(database)
    assert (passed.minutes, passed.sealed) == (0, 1)
    assert rollups(database) == before
    journal.put(make_search("a", search_id=new_at(old), started_at=int(old.timestamp() * 1e6)))
    world.ship()
    assert collect(database).sealed == 1
    found = verified(database)
    assert (found.differing, found.waiting, len(found.sealed)) == ((), 0, 1)
    assert rollups(database) == before


_salt = iter(range(1, 1000))


def new_at(moment: datetime) -> UUID:
    return UUID(int=_first_id_at(moment).int + next(_salt))


def test_only_one_works_and_the_next_takes_over_when_it_is_gone(database: Database) -> None:
    with database.connect(role="ragledger_collector") as first, database.connect() as second:
        Collector(first).lock()
        with pytest.raises(CollectorBusy):
            Collector(second).lock()
        schema.apply(second, "other", roles=False)
        second.execute("SET search_path TO other")
        Collector(second).lock()
        second.execute("SET search_path TO ragledger")
        second.execute("SELECT pg_terminate_backend(%s)", [first.info.backend_pid])
        done = threading.Event()
        for _ in range(600):
            try:
                Collector(second).lock()
            except CollectorBusy:
                done.wait(0.1)
            else:
                break
        else:
            pytest.fail("nobody could take over")


def test_a_pass_is_cut_into_bounded_steps(database: Database) -> None:
    rows = TableRows()
    for number in range(7):
        rows.search(hit(), started_at=START + timedelta(minutes=number))
    with database.connect() as connection:
        arrive(connection, rows)
    with database.connect(role="ragledger_collector") as connection:
        steps: list[int] = []
        passed = Collector(connection, numbers=3, minutes=2).run(step=steps.append)
    assert (passed.records, passed.minutes, passed.days) == (7, 7, 1)
    assert steps == [3, 3, 1, 2, 2, 2, 1, 1, 0, 0]
    in_order(database)


def test_what_a_search_says_of_nothing_is_not_counted(world: World, database: Database) -> None:
    """A vote and a delivery of a search that never comes."""
    journal = world.journal()
    journal.put(make_vote(new_id(), checked=False))
    world.ship()
    collect(database)
    assert all(not rows for rows in rollups(database).values())
