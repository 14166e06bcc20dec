"""Texts go: by age before their searches do, with what is erased, and to whom an export is for."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest
from fix_pg import Database
from integration.shipping import World
from integration.texts import TEXTS, Ran, adds_up, texts_for, with_text
from psycopg.conninfo import make_conninfo

from ragledger.ids import new_id
from ragledger.model import SearchRecord
from ragledger.removal import _first_id_at, remove_searches, retain, retain_texts
from ragledger.testing import make_search

pytestmark = pytest.mark.pg

NOW = datetime.now(timezone.utc)


def put(world: World, *searches: SearchRecord) -> None:
    journal = world.journal()
    for each in searches:
        assert journal.put(each) is None
        assert journal.put(texts_for(each.search_id)) is None
    world.ship()


def aged(days: int, number: int) -> UUID:
    return UUID(int=_first_id_at(NOW - timedelta(days=days)).int + number)


def test_texts_go_before_their_searches_do(run: Callable[..., Ran], world: World, database: Database) -> None:
    with_text(database)
    put(world, *[make_search("a", search_id=aged(days, days)) for days in (1, 29, 31, 40, 50, 91)])
    done = run(database, "retain", "--batch", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "searches": 1, "hits": 1, "deliveries": 0, "assessments": 0, "feedback": 0, "pending_feedback": 0,
        "search_texts": 8,
    }  # fmt: skip
    left = "SELECT DISTINCT search_id FROM search_texts WHERE text IS NOT NULL OR rank > 0 ORDER BY 1 DESC"
    assert [row[0] for row in database.rows(left)] == [aged(1, 1), aged(29, 29)]
    assert database.value("SELECT count(*) FROM searches") == 5
    assert adds_up(world) == (12, 0, 2)
    assert run(database, "retain").stdout == "nothing to remove\n"
    assert run(database, "retain", "--texts-days", "0").stdout == "removed 4 search texts\n"
    assert database.rows("SELECT DISTINCT rank, text, cut FROM search_texts") == [(0, None, True)]
    assert adds_up(world) == (12, 0, 2)
    assert json.loads(run(database, "retain", "--days", "30", "--json").stdout)["search_texts"] == 0
    assert database.value("SELECT count(*) FROM search_texts") == 2
    assert adds_up(world) == (12, 0, 8)


def test_p5_retention_of_texts_makes_no_hole_per_search_in_the_removed_numbers(
    world: World, database: Database
) -> None:
    with_text(database)
    put(world, *[make_search("a", search_id=aged(9, number)) for number in range(9)])
    with database.connect(role="ragledger_owner") as connection:
        assert [part.search_texts for part in retain_texts(connection, NOW)] == [18]
        assert database.value("SELECT removed::text FROM writers") == "{}"
        list(retain(connection, NOW))
    assert database.value("SELECT removed::text FROM writers") == "{[1,19)}"
    assert adds_up(world) == (18, 0, 18)


def test_retention_of_texts_goes_in_bounded_batches_and_needs_no_table(
    world: World, database: Database
) -> None:
    with database.connect(role="ragledger_owner") as connection:
        assert list(retain_texts(connection, NOW)) == []
    with_text(database)
    put(world, *[make_search("a", search_id=aged(9, number)) for number in range(7)])
    with database.connect(role="ragledger_owner") as connection:
        parts = [part.search_texts for part in retain_texts(connection, NOW, batch=3)]
        assert list(retain_texts(connection, NOW)) == []
    assert parts == [6, 6, 2]
    assert adds_up(world) == (14, 0, 0)


@pytest.mark.parametrize("erased", [True, False], ids=["erased", "rejected"])
def test_p9_texts_that_come_after_their_search_was_erased_or_rejected_do_not_land(
    run: Callable[..., Ran], world: World, database: Database, erased: bool
) -> None:
    with_text(database)
    other = make_search("a")
    gone = make_search("a", search_id=new_id() if erased else other.search_id)  # twice the same id: refused
    late = texts_for(gone.search_id if erased else new_id())
    put(world, other)
    assert world.journals[0].put(gone) is None
    world.ship()
    if erased:
        assert run(database, "erase", "--search", str(gone.search_id)).returncode == 0
    assert world.journals[0].put(late) is None
    world.ship()
    assert world.rejected()[4] == "no_search"
    assert {row[0] for row in database.rows("SELECT search_id FROM search_texts")} == {other.search_id}
    found = run(database, "doctor").stdout
    assert ("rejected:" in found) is not erased
    adds_up(world)


def test_general_retention_takes_texts_too(world: World, database: Database) -> None:
    with_text(database)
    put(world, *[make_search("a", search_id=aged(9, number)) for number in range(5)])
    with database.connect(role="ragledger_owner") as connection:
        assert sum(part.search_texts for part in retain(connection, NOW, batch=2)) == 10
    assert database.rows(TEXTS) == []
    assert adds_up(world) == (10, 0, 10)


def test_texts_are_erased_with_their_search_and_only_they(
    run: Callable[..., Ran], world: World, database: Database
) -> None:
    with_text(database)
    ana = make_search("a", actor_kind="human", actor_id="ana")
    bob = make_search("a", actor_kind="human", actor_id="bob")
    put(world, ana, bob)
    done = run(database, "erase", "--actor", "human:ana", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["removed"]["search_texts"] == 2
    assert {row[0] for row in database.rows("SELECT search_id FROM search_texts")} == {bob.search_id}
    assert adds_up(world) == (4, 0, 2)
    with database.connect(role="ragledger_owner") as connection:
        assert [part.search_texts for part in remove_searches(connection, [bob.search_id])] == [2]


def test_texts_are_exported_to_who_may_read_them_and_the_others_are_told(
    run: Callable[..., Ran], make_login: Callable[..., str], world: World, database: Database
) -> None:
    both = make_login(member_of=("ragledger_collector", "ragledger_texts"))
    one = make_login(member_of=("ragledger_collector",))
    with_text(database)
    ana = make_search("a", actor_kind="human", actor_id="ana")
    put(world, ana, make_search("a", actor_kind="human", actor_id="bob"))
    words = "queries and chunks kept as text are not in it: this user may not read them; GRANT ragledger_texts TO it"
    for dsn, may in (
        (make_conninfo(database.dsn, user=both), True),
        (make_conninfo(database.dsn, user=one), False),
        (None, True),
    ):
        done = run(database, "export", "--actor", "human:ana", dsn=dsn)
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        texts = [
            (row["search_id"], row["rank"], row["text"]) for row in rows if row["table"] == "search_texts"
        ]
        wanted = [(str(ana.search_id), 0, "asked"), (str(ana.search_id), 1, "found")]
        assert texts == (wanted if may else [])
        assert (words in done.stderr) is not may
        assert {row["table"] for row in rows} >= {"searches", "hits"}
