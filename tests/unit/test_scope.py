"""What the code around a search says reaches it, and only it, in whatever task, executor or carried thread it runs."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from unit.core import World

import ragledger
from ragledger.scope import scope


def test_context_says_it_for_everything_below(world: World):
    with ragledger.context(
        surface="study", session_id="s1", actor="agent:a", corpus="c", index_version="v1", embedding_model="m"
    ):
        with ragledger.context(surface="tab", corpus=None), world.ledger.search():
            pass
        with world.ledger.search():
            pass
    with world.ledger.search():
        pass
    said = [
        (row.surface, row.session_id, row.actor_id, row.corpus, row.index_version, row.embedding_model)
        for row in world.sink.searches
    ]
    assert said == [
        ("tab", "s1", "a", "c", "v1", "m"),
        ("study", "s1", "a", "c", "v1", "m"),
        (None,) * 6,
    ]
    assert scope().surface is None


def test_the_call_wins_over_the_context_and_the_retriever_over_both(world: World):
    with (
        ragledger.context(surface="a", session_id="s", corpus="a", index_version="a", embedding_model="a"),
        world.ledger.search(surface="b", session_id="", index_version="b") as search,
    ):
        search.declare(embedding_model="c")
    row = world.sink.row
    assert (row.surface, row.corpus, row.index_version, row.embedding_model) == ("b", "a", "b", "c")
    assert row.session_id is None, "an empty session is no session"
    assert world.narrator.log[0].surface == "b"


def test_what_was_said_is_read_when_the_search_begins(world: World):
    with world.ledger.search(), ragledger.context(surface="later", index_version="later"):
        pass
    assert (world.sink.row.surface, world.sink.row.index_version) == (None, None)


@pytest.mark.parametrize(
    "value",
    ["nul\0", "\ud800", "x" * 600, 7, True, object()],
    ids=["nul", "surrogate", "long", "int", "bool", "object"],
)
def test_any_value_is_stored_as_text_that_fits(world: World, value: Any):
    with ragledger.context(surface=value, session_id=value, index_version=value, corpus=value):
        with world.ledger.search():
            pass
        world.ledger.skip(reason="no_goal")
    for row in world.sink.searches:
        assert row.surface == row.session_id == row.index_version == row.corpus
        assert row.surface is not None
        assert row.surface.encode()
        assert len(row.surface) <= 512
    assert len({row.epoch for row in world.sink.searches}) == 1


def test_a_context_ends_with_its_block_also_by_an_exception():
    with pytest.raises(ValueError), ragledger.context(surface="study"):
        raise ValueError
    assert scope().surface is None


def test_a_context_closed_elsewhere_is_closed_without_noise():
    within = ragledger.context(surface="study")
    contextvars.Context().run(within.__enter__)
    contextvars.Context().run(within.__exit__, None, None, None)
    assert scope().surface is None


def test_suppress_records_nothing(world: World):
    with ragledger.suppress():
        with world.ledger.search(corpus="c") as search:
            search.degrade("reason")
        assert world.ledger.skip(reason="no_goal").search_id is None
        with pytest.raises(ValueError), world.ledger.search():
            raise ValueError
    assert world.sink.records == []
    assert world.narrator.log == []
    assert (search.receipt.search_id, search.receipt.status) == (None, "disabled")
    with world.ledger.search():
        pass
    assert len(world.sink.searches) == 1


def _search(world: World) -> None:
    with world.ledger.search():
        pass


def in_task(work: Callable[[], None]) -> None:
    async def main() -> None:
        async def run() -> None:
            work()

        await asyncio.create_task(run())

    asyncio.run(main())


def in_to_thread(work: Callable[[], None]) -> None:
    asyncio.run(_to_thread(work))


async def _to_thread(work: Callable[[], None]) -> None:
    await asyncio.to_thread(work)


def in_propagated_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=ragledger.propagate(work))
    thread.start()
    thread.join()


def in_propagated_pool(work: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ragledger.propagate(work)).result()


CARRIERS = [in_task, in_to_thread, in_propagated_thread, in_propagated_pool]


@pytest.mark.parametrize("carry", CARRIERS)
def test_scope_and_open_search_are_carried(world: World, carry: Callable[[Callable[[], None]], None]):
    with ragledger.context(surface="study"), world.ledger.search() as outer:
        carry(lambda: _search(world))
        assert ragledger.current() is outer
    inner, _ = world.sink.searches
    assert (inner.surface, inner.depth, inner.parent_id) == ("study", 1, outer.search_id)


@pytest.mark.parametrize("carry", CARRIERS)
def test_suppress_is_carried(world: World, carry: Callable[[Callable[[], None]], None]):
    with ragledger.suppress():
        carry(lambda: _search(world))
    assert world.sink.records == []


@pytest.mark.parametrize("carry", CARRIERS)
def test_receipts_are_captured_across(world: World, carry: Callable[[Callable[[], None]], None]):
    with ragledger.capture() as receipts:
        carry(lambda: _search(world))
    assert [receipt.search_id for receipt in receipts] == [world.sink.row.search_id]


def test_a_raw_thread_starts_without_a_scope(world: World):
    with ragledger.context(surface="study"), world.ledger.search():
        thread = threading.Thread(target=_search, args=[world])
        thread.start()
        thread.join()
    inner, _ = world.sink.searches
    assert (inner.surface, inner.depth) == (None, 0)


def test_a_propagated_function_may_run_many_times_at_once_and_keeps_its_face():
    barrier = threading.Barrier(8, timeout=30)

    def work(number: int, *, times: int) -> tuple[int, Any]:
        """Says something."""
        barrier.wait()
        return number * times, scope().surface

    with ragledger.context(surface="study"):
        carried = ragledger.propagate(work)
    assert (carried.__name__, carried.__doc__) == ("work", "Says something.")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: carried(number, times=2), range(8)))
    assert found == [(number * 2, "study") for number in range(8)]
    assert scope().surface is None


async def test_d45_searches_at_the_same_time_never_mix(world: World):
    async def ask(number: int) -> None:
        with ragledger.context(surface=f"s{number}", session_id=f"s{number}"):
            await asyncio.sleep(0)
            with world.ledger.search(corpus=f"s{number}"):
                await asyncio.sleep(0)
                with world.ledger.search():
                    await asyncio.sleep(0)

    await asyncio.gather(*(ask(number) for number in range(100)))
    rows = world.sink.searches
    assert len(rows) == 200
    outer = {row.search_id: row for row in rows if row.depth == 0}
    inner = [row for row in rows if row.depth == 1]
    assert {row.surface for row in outer.values()} == {f"s{number}" for number in range(100)}
    assert all(row.surface == row.session_id == row.corpus for row in outer.values())
    assert all(row.surface == outer[row.root_id].surface for row in inner)
