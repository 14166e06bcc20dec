"""Retention and erasure: what is asked for goes, nothing else does, and every record still has one fate."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_pg import Database
from hypothesis import given, settings
from hypothesis import strategies as st
from integration.shipping import RAGLEDGER, World, encode

from ragledger import Ledger
from ragledger.balance import balances
from ragledger.errors import DatabaseUnavailable
from ragledger.ids import new_id
from ragledger.model import AssessmentRecord, DeliveryRecord, SearchRecord
from ragledger.rejections import forget
from ragledger.removal import Removed, _first_id_at, retain
from ragledger.testing import make_search, make_vote

pytestmark = pytest.mark.pg
NOW = datetime.now(timezone.utc)


def id_at(moment: datetime, salt: int = 1) -> UUID:
    return UUID(int=_first_id_at(moment).int + salt)


def put(world: World, *records: Any) -> None:
    journal = world.journal()
    for record in records:
        assert journal.put(record) is None
    world.ship()


def said_of(search: SearchRecord) -> list[Any]:
    return [
        make_vote(search.search_id),
        DeliveryRecord(search.search_id, new_id(), "application", (1,), None, 1),
        AssessmentRecord(search.search_id, new_id(), "coverage", 0.5, None, None, 1),
    ]


def stored(database: Database) -> set[UUID]:
    return {row[0] for row in database.rows("SELECT search_id FROM searches")}


def removed(world: World) -> tuple[int, int]:
    """Records that were offered, and those that were removed; fails when a record has no fate or two."""
    with world.database.connect() as connection:
        found = balances(connection, world.directory)
    assert [balance.faults for balance in found] == [()] * len(found)
    return sum(balance.offered for balance in found), sum(balance.removed for balance in found)


def run(database: Database, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RAGLEDGER, *arguments, "--dsn", database.dsn], capture_output=True, text=True, check=False
    )


def test_what_is_older_goes_with_everything_said_of_it_and_the_sum_stays(
    world: World, database: Database
) -> None:
    old = [make_search("a", search_id=id_at(NOW - timedelta(days=91), n)) for n in range(1, 8)]
    young = [make_search("a", search_id=id_at(NOW - timedelta(days=89), n)) for n in range(1, 4)]
    orphan = AssessmentRecord(id_at(NOW - timedelta(days=95)), new_id(), "late", None, None, None, 1)
    put(world, *old, *young, *said_of(old[0]), *said_of(young[0]), orphan)
    done = run(database, "retain", "--days", "90", "--batch", "3", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "searches": 7, "hits": 7, "deliveries": 1, "assessments": 2, "feedback": 1, "pending_feedback": 0,
        "search_texts": 0,
    }  # fmt: skip
    assert stored(database) == {search.search_id for search in young}
    for table in ("hits", "deliveries", "assessments", "feedback"):
        assert {row[0] for row in database.rows(f"SELECT search_id FROM {table}")} <= stored(database)
    assert removed(world) == (17, 11)
    again = run(database, "retain", "--days", "90")
    assert (again.returncode, again.stdout) == (0, "nothing to remove\n")


def test_a_retention_that_is_stopped_goes_on_where_it_was(world: World, database: Database) -> None:
    put(world, *[make_search("a", search_id=id_at(NOW - timedelta(days=9), n)) for n in range(1, 8)])
    with database.connect() as connection:
        parts = retain(connection, NOW - timedelta(days=1), batch=3)
        next(parts)
        parts.close()
        assert len(stored(database)) == 4
        assert removed(world) == (7, 3)
        assert sum(part.searches for part in retain(connection, NOW - timedelta(days=1), batch=3)) == 4


@pytest.fixture
def asked(world: World) -> dict[str, SearchRecord]:
    """Ana's search with a member, Bob's in another session, and votes of both on both."""
    ana = make_search("a", session_id="s-ana", actor_kind="human", actor_id="ana")
    member = make_search("a", parent_id=ana.search_id, root_id=ana.search_id, depth=1)
    bob = make_search("a", session_id="s-bob", actor_kind="human", actor_id="bob")
    agent = make_search("a", actor_kind="agent", actor_id="ana")
    found = {"ana": ana, "member": member, "bob": bob, "agent": agent}
    votes = [make_vote(each.search_id, actor_id=name) for each in (ana, bob) for name in ("ana", "bob")]
    put(world, *found.values(), *said_of(ana), *votes, make_vote(new_id(), checked=False, actor_id="ana"))
    return found


@pytest.mark.parametrize(
    ("arguments", "left", "voters"),
    [
        (["--session", "s-ana"], {"bob", "agent"}, {"ana", "bob"}),
        (["--actor", "human:ana"], {"bob", "agent"}, {"bob"}),
        (["--actor", "agent:ana"], {"ana", "member", "bob"}, {"ana", "bob"}),
        (["--actor", "human"], {"ana", "member", "bob", "agent"}, {"ana", "bob"}),
        (["--session", "nobody"], {"ana", "member", "bob", "agent"}, {"ana", "bob"}),
    ],
)
def test_erasure_takes_what_was_named_with_its_members_and_nothing_else(
    world: World,
    database: Database,
    asked: dict[str, SearchRecord],
    arguments: list[str],
    left: set[str],
    voters: set[str],
) -> None:
    done = run(database, "erase", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert stored(database) == {asked[name].search_id for name in left}
    assert {row[0] for row in database.rows("SELECT actor_id FROM feedback")} == voters
    assert removed(world)[0] == 12
    receipt = json.loads(done.stdout)
    assert receipt["what"] == arguments[0][2:]
    assert "ana" not in done.stdout.replace("s-ana", "")  # a receipt may be filed


def test_a_search_is_erased_by_its_id_also_what_was_said_before_it_came(
    world: World, database: Database, asked: dict[str, SearchRecord]
) -> None:
    missing = new_id()
    put(world, AssessmentRecord(missing, new_id(), "late", None, None, None, 1))
    ids = [str(asked["ana"].search_id), str(missing)]
    done = run(database, "erase", "--search", ids[0], "--search", ids[1])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "removed 2 searches, 2 hits, 1 deliveries, 2 assessments, 3 feedback; 0 rejected"
    )
    assert stored(database) == {asked["bob"].search_id, asked["agent"].search_id}
    removed(world)


def test_what_waits_in_the_journal_of_this_host_is_erased_too(
    make_ledger: Callable[..., Ledger], database: Database
) -> None:
    ledger = make_ledger(ship="sidecar")
    for session in ("gone", "stays"):
        with ledger.search(session_id=session):
            pass
    assert stored(database) == set()
    assert run(database, "erase", "--session", "gone").returncode == 0
    assert database.rows("SELECT session_id FROM searches") == [("stays",)]


def test_records_that_wait_elsewhere_are_said_to_be_there(world: World, database: Database) -> None:
    put(world, make_search("a", session_id="s"))
    with database.connect() as connection:
        connection.execute("UPDATE writers SET attempted = attempted + 5")
    done = run(database, "erase", "--session", "s")
    assert done.returncode == 1
    assert "1 writer(s) have records that are not in the table yet" in done.stderr
    assert stored(database) == set()


def test_rejected_records_of_somebody_are_blanked_in_place(tmp_path: Path) -> None:
    import base64

    mine, other = make_search("a", session_id="mine"), make_search("a", session_id="other")
    bodies = [encode(mine), encode(other), b"nobody can read this"]
    lines = [
        json.dumps({"number": n, "reason": "database:22021", "body": base64.b64encode(body).decode()})
        for n, body in enumerate(bodies, 1)
    ]
    file = tmp_path / "w.rejected"
    file.write_text("\n".join(lines) + "\n")
    size = file.stat().st_size

    def concerns(record: Any) -> bool:
        return bool(record.session_id == "mine")

    assert forget(tmp_path, concerns) == 2
    assert forget(tmp_path, concerns) == 0
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert [entry["number"] for entry in kept] == [1, 2, 3]
    assert [base64.b64decode(entry["body"]).strip(b"\0") for entry in kept] == [b"", bodies[1], b""]
    assert file.stat().st_size == size


@pytest.mark.parametrize("arguments", [[], ["--session", "a", "--actor", "human"], ["--session", ""]])
def test_one_thing_at_a_time_is_erased(database: Database, arguments: list[str]) -> None:
    done = run(database, "erase", *arguments)
    assert (done.returncode, done.stderr) == (
        2,
        "ragledger: say whose rows: one of --session, --actor and --search\n",
    )


def test_who_may_not_remove_is_told_so(world: World, database: Database) -> None:
    put(world, make_search("a"))
    with (
        database.connect(role="ragledger_collector") as connection,
        pytest.raises(DatabaseUnavailable, match="may not remove"),
    ):
        list(retain(connection, NOW + timedelta(days=1)))
    with database.connect(role="ragledger_owner") as connection:
        assert sum(part.searches for part in retain(connection, NOW + timedelta(days=1))) == 1


def test_votes_that_land_while_rows_are_removed_lose_nobody_and_add_up(
    world: World, database: Database
) -> None:
    """A vote on a hit that is being removed goes wherever it goes; it is never without a fate."""
    searches = [make_search("a", "b", session_id="s") for _ in range(60)]
    put(world, *searches)
    journal = world.journal()
    done = threading.Event()

    def vote() -> None:
        for search in searches * 3:
            journal.put(make_vote(search.search_id))
        while not done.is_set():
            world.ship()

    thread = threading.Thread(target=vote)
    thread.start()
    try:
        with database.connect() as connection:
            for part in retain(connection, NOW + timedelta(days=1), batch=7):
                assert isinstance(part, Removed)
    finally:
        done.set()
        thread.join()
    for _ in range(3):
        world.ship()
    assert removed(world)[0] == 60 + 180
    assert stored(database) == set()


@settings(max_examples=25)
@given(days=st.floats(1, 80_000), before=st.integers(1, 10**6))
def test_an_id_sorts_by_its_time(days: float, before: int) -> None:
    moment = datetime.fromtimestamp(days * 86_400, tz=timezone.utc)
    limit = _first_id_at(moment)
    assert limit.version == 7
    assert id_at(moment - timedelta(milliseconds=before)) < limit <= id_at(moment)


def test_everything_of_an_actor_is_exported_and_no_name_of_others(
    world: World, database: Database, asked: dict[str, SearchRecord]
) -> None:
    done = run(database, "export", "--actor", "human:ana")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, f"{len(rows)} row(s)\n")
    tables = [row["table"] for row in rows]
    assert {table: tables.count(table) for table in tables} == {
        "searches": 2, "hits": 2, "deliveries": 1, "assessments": 1, "feedback": 6, "pending_feedback": 1,
    }  # fmt: skip
    assert {row["search_id"] for row in rows if row["table"] == "searches"} == {
        str(asked[name].search_id) for name in ("ana", "member")
    }
    assert "bob" not in done.stdout
    nobody = run(database, "export", "--actor", "human:nobody")
    assert (nobody.returncode, nobody.stdout) == (1, "")
