"""Votes that reach the table before their search: kept, promoted when it comes, rejected when it cannot."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest
from integration.shipping import World, balanced

from ragledger.ids import new_id
from ragledger.testing import make_hit, make_search, make_vote

pytestmark = pytest.mark.pg


def id_made(ago: timedelta, version: int = 7) -> UUID:
    """A UUIDv7 as it was made then, or something that only looks like one."""
    millis = int((datetime.now(timezone.utc) - ago).timestamp() * 1000)
    return UUID(int=(millis << 80) | (version << 76) | (new_id().int & ((1 << 76) - 1)))


def votes(world: World) -> list[tuple[UUID, int]]:
    return world.database.rows("SELECT search_id, rank FROM feedback ORDER BY given_at, rank")


def pending(world: World) -> int:
    return int(world.database.value("SELECT count(*) FROM pending_feedback"))


def let_pass(world: World, minutes: int) -> None:
    """What is pending has been so for longer."""
    with world.database.connect() as connection:
        connection.execute(
            "UPDATE pending_feedback SET received_at = received_at - make_interval(mins => %s)", [minutes]
        )


def test_p7_a_vote_by_rank_and_one_by_chunk_wait_for_their_search_and_then_count(world: World) -> None:
    search = make_search("a", "b")
    voter, searcher = world.journal(), world.journal()
    voter.put(make_vote(search.search_id, 1, checked=False))
    voter.put(make_vote(search.search_id, None, "b", checked=False))
    world.ship()
    assert (pending(world), votes(world)) == (2, [])
    assert balanced(world.database, world.directory).pending == 2
    searcher.put(search)
    world.ship()
    assert (pending(world), votes(world)) == (0, [(search.search_id, 1), (search.search_id, 2)])
    total = balanced(world.database, world.directory)
    assert (total.written, total.pending) == (3, 0)


def test_a_vote_and_its_search_in_one_batch_in_the_wrong_order_still_meet(world: World) -> None:
    search = make_search("a")
    journal = world.journal()
    journal.put(make_vote(search.search_id, checked=False))
    journal.put(search)
    world.ship()
    assert votes(world) == [(search.search_id, 1)]
    assert balanced(world.database, world.directory).written == 2


@pytest.mark.parametrize("rank", [1, 2])
def test_p7_a_checked_vote_whose_search_is_not_there_becomes_pending_alone(world: World, rank: int) -> None:
    """A forked child knows its parent's searches; the parent's journal may be slower."""
    search = make_search("a", "b")
    searcher, voter = world.journal(), world.journal()
    others = [make_search("x") for _ in range(20)]
    for index, other in enumerate(others):
        voter.put(other)
        if index % 7 == 0:
            voter.put(make_vote(search.search_id, rank))
    searcher_had = search
    world.ship()
    assert len(world.stored()) == 20
    assert (pending(world), world.rejected()) == (3, {})
    searcher.put(searcher_had)
    world.ship()
    assert votes(world) == [(search.search_id, rank)] * 3
    assert balanced(world.database, world.directory).written == 24


@pytest.mark.parametrize(
    "vote",
    [{"rank": 9}, {"rank": None, "chunk": "unknown"}, {"rank": 2}, {"rank": None, "chunk": "not admitted"}],
    ids=str,
)
def test_p7_a_vote_on_what_the_search_did_not_return_is_rejected_when_the_search_comes(
    world: World, vote: dict[str, object]
) -> None:
    search = make_search(hits=(make_hit(1, "a"), make_hit(2, "not admitted", admitted=False)))
    voter = world.journal()
    voter.put(make_vote(search.search_id, checked=False, **vote))
    world.ship()
    assert world.rejected() == {}
    world.journal().put(search)
    world.ship()
    assert world.rejected() == {1: "hit_not_returned"}
    assert world.database.value("SELECT kind FROM rejected") == "feedback"
    assert (pending(world), votes(world)) == (0, [])
    assert balanced(world.database, world.directory).rejected == 1


@pytest.mark.parametrize(
    "search_id",
    [
        id_made(timedelta(hours=25)),
        id_made(timedelta(hours=-2)),
        id_made(timedelta(0), version=4),
        UUID(int=0),
    ],
    ids=["older than the deadline", "from the future", "version 4", "nil"],
)
def test_a_vote_whose_search_can_no_longer_come_is_rejected(world: World, search_id: UUID) -> None:
    world.journal().put(make_vote(search_id, checked=False))
    world.ship()
    let_pass(world, minutes=11)
    world.ship()
    assert world.rejected() == {1: "unknown_search"}
    assert pending(world) == 0
    assert balanced(world.database, world.directory).rejected == 1


def test_a_vote_within_the_deadline_goes_on_waiting(world: World) -> None:
    world.journal().put(make_vote(id_made(timedelta(hours=23)), checked=False))
    world.ship()
    let_pass(world, minutes=23 * 60)
    world.ship()
    assert (pending(world), world.rejected()) == (1, {})


@pytest.mark.parametrize(("deadline_h", "left"), [(0.5, 0), (1.5, 1)])
def test_the_deadline_is_kept_to_the_minute(world: World, deadline_h: float, left: int) -> None:
    world.journal().put(make_vote(id_made(timedelta(hours=1)), checked=False))
    world.ship(vote_deadline_h=deadline_h)
    let_pass(world, minutes=11)
    world.ship(vote_deadline_h=deadline_h)
    assert pending(world) == left


def test_p5_after_an_outage_longer_than_the_deadline_a_vote_that_comes_first_still_counts(
    world: World,
) -> None:
    """Both waited for days in two journals; the voter's was the faster one."""
    search = make_search("a", search_id=id_made(timedelta(days=3)))
    world.journal().put(make_vote(search.search_id, checked=False))
    world.ship()
    world.journal().put(search)
    world.ship()
    assert votes(world) == [(search.search_id, 1)]
    assert world.rejected() == {}


def test_a_search_that_lands_while_votes_are_promoted_costs_no_vote(world: World) -> None:
    """Between the statement that promotes and the one that rejects, each with a snapshot of its own."""
    search = make_search("a")
    world.journal().put(make_vote(search.search_id, checked=False))
    world.ship()
    world.journal().put(search)
    shipper = world.shipper(live_writers=True)
    store = shipper._open()
    execute = store._connection.execute

    def late(query: object, *arguments: object, **options: object) -> object:
        if query == store._queries["reject_overdue"]:
            world.ship()
        return execute(query, *arguments, **options)  # type: ignore[arg-type]

    store._connection.execute = late  # type: ignore[method-assign,assignment]
    store.promote_pending()
    shipper.close()
    assert world.rejected() == {}
    world.ship()
    assert votes(world) == [(search.search_id, 1)]


def test_two_promoters_at_once_promote_every_vote_once(world: World) -> None:
    searches = [make_search("a") for _ in range(300)]
    voter = world.journal()
    for search in searches:
        voter.put(make_vote(search.search_id, checked=False))
    world.ship()
    searcher = world.journal()
    for search in searches:
        searcher.put(search)
    shippers = [world.shipper(live_writers=True) for _ in range(4)]
    faults: list[BaseException] = []

    def ship(shipper: object) -> None:
        try:
            shipper.ship()  # type: ignore[attr-defined]
        except BaseException as exc:
            faults.append(exc)

    threads = [threading.Thread(target=ship, args=(shipper,)) for shipper in shippers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for shipper in shippers:
        shipper.close()
    world.ship()
    assert faults == []
    assert len(votes(world)) == 300
    assert balanced(world.database, world.directory).written == 600
