"""The life of one search: its place among others, its end (once), and what its caller notices of it (nothing)."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import weakref
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from unit.core import NOWHERE_ID, DriverUUID, World

import ragledger
from ragledger import Candidate
from ragledger.observation import NULL, Observation, Opening

BaseFaults = [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]


def open_in(world: World, **opening: Any) -> Observation:
    found = world.ledger.recorder.open(Opening(framework="test", **opening))
    assert isinstance(found, Observation)
    return found


def test_a_search_that_came_back_is_one_ok_row_with_what_was_said(world: World):
    with world.ledger.search(
        corpus="handbook", surface="study", session_id="s1", actor="human:ana", top_k=2, retriever="Own"
    ) as search:
        world.clock.forward(ms=12.5)
        search.candidates(Candidate("a", "doc", vector=0.5, score=0.5))
        world.clock.forward(ms=7.5)
    row = world.sink.row
    assert row.search_id == search.search_id == row.root_id
    assert (row.project, row.framework, row.retriever) == ("test", "application", "Own")
    assert (row.corpus, row.surface, row.session_id) == ("handbook", "study", "s1")
    assert (row.actor_kind, row.actor_id) == ("human", "ana")
    assert (row.status, row.depth, row.parent_id, row.latency_ms) == ("ok", 0, None, 20.0)
    assert (row.top_k, row.candidate_count, row.admitted_count) == (2, 1, 1)
    assert (row.error_type, row.error_origin, row.skip_reason) == (None, None, None)
    assert (row.degraded, row.degraded_reason, row.vector_available) == (False, None, True)
    assert (row.trace_id, row.span_id, row.sampled, row.span_owner) == (b"t" * 16, b"s" * 8, True, "ours")
    assert row.started_at == 1_790_000_000_000_000
    assert row.flags == ()
    assert [hit.chunk_id for hit in row.hits] == ["a"]


def test_p8_a_search_of_which_nothing_is_said_says_nothing(world: World):
    with world.ledger.search():
        pass
    row = world.sink.row
    unsaid = (row.corpus, row.surface, row.session_id, row.actor_id, row.top_k, row.vector_available)
    assert unsaid == (None,) * 6
    assert (row.top_candidate_score, row.top_admitted_score, row.signals, row.query_key) == (None,) * 4
    assert row.actor_kind == "system"
    assert (row.candidate_count, row.admitted_count, row.hits) == (None, None, ())


@pytest.mark.parametrize("said_in", ["candidates", "finish"])
def test_p8_nothing_found_is_zero_and_nothing_said_is_unknown(world: World, said_in: str):
    search = open_in(world)
    if said_in == "candidates":
        search.candidates()
        search.finish()
    else:
        search.finish([])
    assert (world.sink.row.candidate_count, world.sink.row.admitted_count) == (0, 0)


def test_d50_a_wall_clock_that_steps_back_leaves_the_latency_right(world: World):
    with world.ledger.search():
        world.clock.forward(ms=3)
        world.clock.wall -= 5_000_000_000
    assert world.sink.row.latency_ms == 3.0
    assert world.sink.row.started_at == 1_790_000_000_000_000


def test_a_clock_that_runs_backwards_gives_no_negative_latency(world: World):
    with world.ledger.search():
        world.clock.ticks -= 1_000_000
    assert world.sink.row.latency_ms == 0.0


def test_the_latency_is_the_search_and_not_our_own_work(world: World):
    search = open_in(world)
    world.clock.forward(ms=4)
    search.stop()
    world.clock.forward(ms=100)
    search.stop()
    search.finish([])
    assert world.sink.row.latency_ms == 4.0


@pytest.mark.parametrize("kind", [ValueError, StopIteration, LookupError, *BaseFaults])
def test_p3_an_exception_of_the_search_passes_as_the_very_same_object(
    world: World, kind: type[BaseException]
):
    fault = kind("no rows for jane@x.org")
    with pytest.raises(kind) as caught, world.ledger.search():
        raise fault
    assert caught.value is fault
    assert fault.__cause__ is None
    assert fault.__context__ is None
    row = world.sink.row
    assert row.status == ("cancelled" if kind in BaseFaults else "error")
    assert row.error_type is not None
    assert row.error_type.rpartition(".")[2] == kind.__name__
    assert (row.candidate_count, row.admitted_count, row.hits) == (None, None, ())
    assert row.latency_ms is not None


def test_candidates_of_a_search_that_failed_later_are_kept_and_none_is_admitted(world: World):
    with pytest.raises(ValueError), world.ledger.search() as search:
        search.candidates(Candidate("a", vector=0.5))
        raise ValueError
    assert [(hit.chunk_id, hit.admitted) for hit in world.sink.hits] == [("a", False)]
    assert world.sink.row.admitted_count is None
    assert search.receipt.hits == ()


def test_a_search_ends_once(world: World):
    search = open_in(world)
    search.finish([Candidate("a")])
    receipt = search.receipt
    search.finish([Candidate("b")])
    search.fail(ValueError())
    assert search.receipt is receipt
    search.stop()
    search.leave()
    search.candidates(Candidate("late"))
    search.degrade("late")
    assert [hit.chunk_id for hit in world.sink.hits] == ["a"]
    assert not world.sink.row.degraded


def test_p10_nested_searches_know_their_place(world: World):
    with world.ledger.search() as outer, world.ledger.search() as middle:
        with world.ledger.search() as inner:
            assert ragledger.current() is inner
        with pytest.raises(ValueError), world.ledger.search() as sibling:
            raise ValueError
        assert ragledger.current() is middle
    places = {row.search_id: (row.parent_id, row.root_id, row.depth) for row in world.sink.searches}
    root = outer.search_id
    assert places == {
        outer.search_id: (None, root, 0),
        middle.search_id: (root, root, 1),
        inner.search_id: (middle.search_id, root, 2),
        sibling.search_id: (middle.search_id, root, 2),
    }


def test_p10_depth_is_counted_per_ledger(make_world: Callable[..., World]):
    ours, theirs = make_world(name="ours"), make_world(name="theirs")
    with ours.ledger.search() as first, theirs.ledger.search() as foreign, ours.ledger.search():
        pass
    assert [(row.depth, row.parent_id) for row in theirs.sink.searches] == [(0, None)]
    assert [(row.depth, row.parent_id) for row in ours.sink.searches] == [(1, first.search_id), (0, None)]
    assert theirs.sink.row.root_id == foreign.search_id


async def test_p10_a_task_that_outlives_its_parent_starts_a_search_of_its_own(world: World):
    release = asyncio.Event()

    async def late() -> None:
        with world.ledger.search(surface="early"):
            pass
        await release.wait()
        assert not ragledger.current()
        with world.ledger.search(surface="late"):
            pass

    with world.ledger.search(surface="parent") as parent:
        task = asyncio.create_task(late())
        await asyncio.sleep(0)
    release.set()
    await task
    places = [(row.surface, row.depth, row.parent_id) for row in world.sink.searches]
    assert places == [("early", 1, parent.search_id), ("parent", 0, None), ("late", 0, None)]


def test_d33_a_search_closed_from_another_context_is_closed_without_noise(
    world: World, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    search = open_in(world)
    contextvars.Context().run(search.finish, [])
    assert not ragledger.current()
    with world.ledger.search():
        pass
    assert [row.depth for row in world.sink.searches] == [0, 0]
    assert caplog.records == []
    search.leave()


async def test_d33_an_async_generator_closed_by_another_task_leaves_nothing_open(world: World, caplog):
    async def tokens() -> Any:
        with world.ledger.search(surface="stream"):
            yield "token"

    stream = tokens()
    assert await stream.__anext__() == "token"
    await asyncio.create_task(stream.aclose())
    assert not ragledger.current()
    assert world.sink.row.status == "cancelled"
    assert caplog.records == []


def test_p4_searches_that_are_closed_elsewhere_do_not_hold_each_other(world: World):
    """A stream's search may be closed in another context each time; the chain must not grow with them."""

    def serve() -> list[weakref.ref[Any]]:
        found = []
        for _ in range(5):
            search = open_in(world)
            found.append(weakref.ref(search.flags))
            contextvars.Context().run(search.finish, [])
        return found

    context = contextvars.Context()
    found = context.run(serve)
    gc.collect()
    assert [ref() is None for ref in found] == [True, True, True, True, False]


def test_searches_that_end_in_the_wrong_order_end_all_the_same(world: World):
    first, second = open_in(world), open_in(world)
    first.finish([])
    with world.ledger.search():
        pass
    second.finish([])
    assert not ragledger.current()
    assert len(world.sink.searches) == 3


def test_p10_a_closed_search_further_out_is_nobodys_parent(make_world: Callable[..., World]):
    ours, theirs = make_world(name="ours"), make_world(name="theirs")
    outer = open_in(ours)
    with theirs.ledger.search():
        contextvars.Context().run(outer.finish, [])
        with ours.ledger.search():
            pass
    assert [(row.depth, row.parent_id) for row in ours.sink.searches] == [(0, None), (0, None)]


def test_current_is_false_outside_a_search_and_takes_everything(world: World):
    found = ragledger.current()
    assert found is NULL
    assert not found
    found.candidates(Candidate("a"))
    found.degrade("reason", vector_available=False)
    found.declare(weights={"vector": 1.0}, top_k=3)
    found.flag("odd")
    found.stop()
    found.leave()
    found.finish([])
    found.fail(ValueError())
    assert (found.search_id, found.receipt.search_id, found.receipt.status) == (None, None, "disabled")
    assert world.sink.records == []


def test_what_a_retriever_says_under_suppress_does_not_reach_the_search_around_it(world: World):
    with world.ledger.search() as search:
        with ragledger.suppress(), world.ledger.search() as nothing:
            assert not nothing
            assert not ragledger.current()
            ragledger.current().candidates(Candidate("inner"))
        assert ragledger.current() is search
    assert world.sink.row.hits == ()


@pytest.mark.parametrize(
    ("said", "expected", "flags"),
    [
        (None, ("system", None), ()),
        ("", ("system", None), ()),
        ("human", ("human", None), ()),
        ("agent:planner:2", ("agent", "planner:2"), ()),
        ("robot:r2", ("system", "robot:r2"), ("unknown_actor_kind",)),
        ("human:a\0", ("human", "a\\u0000"), ("sanitised_id",)),
    ],
)
def test_an_actor_is_never_invented(world: World, said: Any, expected: Any, flags: Any):
    with ragledger.context(actor=said), world.ledger.search():
        pass
    row = world.sink.row
    assert (row.actor_kind, row.actor_id) == expected
    assert row.flags == flags


@pytest.mark.parametrize(("said", "stored"), [(True, True), (False, False), (None, None), ("no", None)])
def test_p8_degrading_says_a_reason_and_what_is_known_of_the_vectors(world: World, said: Any, stored: Any):
    with world.ledger.search() as search:
        search.degrade("embedding_unavailable", vector_available=said)
        search.degrade("timeout")
    row = world.sink.row
    assert (row.degraded, row.degraded_reason, row.vector_available) == (True, "timeout", stored)
    assert row.flags == (("unreadable_truth",) if said == "no" else ())


@pytest.mark.parametrize(
    ("given", "stored", "flags"),
    [
        (UUID(int=7), UUID(int=7), ()),
        (DriverUUID(int=7), UUID(int=7), ()),
        (str(UUID(int=7)), UUID(int=7), ()),
        ("yesterday", None, ("unreadable_id",)),
    ],
)
def test_a_cached_answer_names_the_search_that_it_came_from(
    world: World, given: Any, stored: Any, flags: Any
):
    with world.ledger.search(served_from=given) as search:
        pass
    assert world.sink.row.served_from == stored
    assert world.sink.row.flags == flags
    assert search.receipt.search_id is not None


def test_flags_of_the_retriever_are_kept_in_a_form_that_can_be_stored(world: World):
    odd: Any = 7
    with world.ledger.search() as search:
        search.flag("own_word")
        search.flag(odd)
        search.flag("nul\0")
    assert world.sink.row.flags == ("7", "nul\\u0000", "own_word", "sanitised_id")


def test_a_skip_is_a_row_with_a_reason_and_no_measurements(world: World):
    with ragledger.context(surface="study", session_id="s1"):
        receipt = world.ledger.skip(reason="no_goal", weights={"vector": 1.0}, top_k=4, corpus="handbook")
    row = world.sink.row
    assert receipt.search_id == row.search_id
    assert receipt.status == "journalled"
    assert (row.status, row.skip_reason, row.depth) == ("skipped", "no_goal", 0)
    assert (row.surface, row.corpus, row.session_id, row.top_k) == ("study", "handbook", "s1", 4)
    assert (row.latency_ms, row.candidate_count, row.admitted_count, row.hits) == (None, None, None, ())
    assert not ragledger.current()


@pytest.mark.parametrize(
    ("reason", "stored"), [("a\0", "a\\u0000"), (7, "7"), (None, "unknown"), ("", "unknown")]
)
def test_a_skip_always_has_a_reason_that_the_table_takes(world: World, reason: Any, stored: str):
    world.ledger.skip(reason=reason)
    assert world.sink.row.skip_reason == stored


def test_the_caps_of_the_settings_hold(make_world: Callable[..., World]):
    world = make_world(max_candidates=3, max_admitted=2)
    with world.ledger.search() as search:
        search.candidates(*(Candidate(str(n)) for n in range(4)))
    assert len(world.sink.hits) == 2
    assert world.sink.row.admitted_count == 4
    assert world.sink.row.flags == ("hits_capped",)
    assert len(search.receipt.hits) == 2


def test_ids_are_time_ordered(world: World):
    for _ in range(3):
        with world.ledger.search():
            pass
    ids = [row.search_id for row in world.sink.searches]
    assert ids == sorted(ids)
    assert {found.version for found in ids} == {7}
    assert NOWHERE_ID not in ids
