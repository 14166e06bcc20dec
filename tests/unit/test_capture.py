"""`capture` collects the receipts of the searches that its block made, and of no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from unit.core import World

import ragledger
from ragledger import Candidate, Receipt


def ids(receipts: list[Receipt]) -> list[object]:
    return [receipt.search_id for receipt in receipts]


def _search(world: World) -> None:
    with world.ledger.search():
        pass


def test_receipts_come_in_the_order_in_which_the_searches_ended(world: World):
    with ragledger.capture() as receipts:
        assert receipts == []
        with world.ledger.search() as first:
            first.candidates(Candidate("a"))
        assert ids(receipts) == [first.search_id]
        with pytest.raises(ValueError), world.ledger.search() as failed:
            raise ValueError
        with world.ledger.search() as last:
            pass
    with world.ledger.search():
        pass
    assert receipts == [first.receipt, failed.receipt, last.receipt]
    assert receipts[0].hits == ((1, "a"),)


def test_members_of_a_composite_search_are_not_listed(world: World):
    with ragledger.capture() as receipts, world.ledger.search() as outer, world.ledger.search():
        _search(world)
    assert ids(receipts) == [outer.search_id]


def test_a_nested_capture_and_the_one_around_it_both_collect(world: World):
    with ragledger.capture() as outer:
        with world.ledger.search() as before:
            pass
        with ragledger.capture() as inner, world.ledger.search() as within:
            pass
    assert ids(inner) == [within.search_id]
    assert ids(outer) == [before.search_id, within.search_id]


def test_a_capture_inside_a_retriever_collects_the_members(world: World):
    with ragledger.capture() as around, world.ledger.search() as outer, ragledger.capture() as within:
        with world.ledger.search() as member, world.ledger.search():
            pass
        with world.ledger.search() as second:
            pass
    assert ids(within) == [member.search_id, second.search_id]
    assert ids(around) == [outer.search_id]


async def test_a_capture_inside_a_retriever_collects_a_member_that_outlives_it(world: World):
    release = asyncio.Event()

    async def member() -> None:
        with world.ledger.search():
            await release.wait()

    with world.ledger.search() as outer, ragledger.capture() as within:
        task = asyncio.create_task(member())
        await asyncio.sleep(0)
    release.set()
    await task
    assert len(within) == 1
    assert [row.parent_id for row in world.sink.searches] == [None, outer.search_id]


def test_each_ledger_has_its_own_outermost_search(make_world: Callable[..., World]):
    ours, theirs = make_world(name="ours"), make_world(name="theirs")
    with ragledger.capture() as receipts, ours.ledger.search() as outer, theirs.ledger.search() as other:
        _search(ours)
    assert ids(receipts) == [other.search_id, outer.search_id]


async def test_tasks_at_the_same_time_collect_their_own(world: World):
    async def ask() -> bool:
        with ragledger.capture() as receipts:
            for _ in range(3):
                with world.ledger.search() as search:
                    await asyncio.sleep(0)
                if ids(receipts)[-1] != search.search_id:
                    return False
        return len(receipts) == 3

    assert await asyncio.gather(*(ask() for _ in range(50))) == [True] * 50


def test_what_is_refused_or_suppressed(world: World):
    with ragledger.capture() as receipts:
        with ragledger.suppress(), world.ledger.search():
            pass
        world.sink.refusal = "cap"
        with world.ledger.search():
            pass
    assert [(receipt.search_id, receipt.reason) for receipt in receipts] == [(None, "cap")]
