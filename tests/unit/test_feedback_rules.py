"""P7 as pure rules and as the ledger applies them: three refusals with nothing stored, and the honest `pending`."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from unit.core import DriverUUID, World

import ragledger
from ragledger import (
    Candidate,
    DatabaseUnavailable,
    HitNotReturned,
    MalformedReference,
    UnknownSearch,
    VoteRefused,
)
from ragledger.feedback import may_be_ours, may_still_arrive, parse_actor, parse_outcome, parse_reference
from ragledger.ids import new_id
from ragledger.model import AssessmentRecord, DeliveryRecord, Receipt, Votable

NOW = datetime.fromtimestamp(1_790_000_000, tz=timezone.utc)


def id_at(moment: datetime) -> UUID:
    """A UUIDv7 of that time."""
    return UUID(int=(int(moment.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | 5)


class Table:
    """Implements `ports.HitLookup`: what a database would say."""

    def __init__(self, answer: Votable | DatabaseUnavailable | None) -> None:
        self.answer = answer
        self.asked: list[UUID] = []

    def find(self, search_id: UUID) -> Votable | None:
        self.asked.append(search_id)
        if isinstance(self.answer, DatabaseUnavailable):
            raise self.answer
        return self.answer


DOWN = DatabaseUnavailable("down")
NO_SEARCH = None
NO_HIT: Votable = ((1, "a"),)
HIT: Votable = ((1, "a"), (3, "c"))


@pytest.fixture
def searched(world: World) -> Receipt:
    with world.ledger.search() as search:
        search.candidates(
            *map(Candidate, ["a", "b", "a", "nul\0", "x" * 600]), Candidate("canary", admitted=False)
        )
    world.sink.records.clear()
    return search.receipt


def test_p7_a_vote_on_a_returned_hit_is_kept_with_its_rank(world: World, searched: Receipt):
    receipt = world.ledger.vote(searched.search_id or "", "b", "relevant", actor="human:ana")
    assert receipt == Receipt(search_id=searched.search_id, status="journalled")
    [vote] = world.sink.votes
    assert (vote.search_id, vote.rank, vote.chunk_id, vote.checked) == (searched.search_id, 2, None, True)
    assert (vote.stage, vote.outcome, vote.actor_kind, vote.actor_id) == (
        "judged",
        "relevant",
        "human",
        "ana",
    )
    assert vote.given_at == 1_790_000_000_000_000


def test_p7_a_hit_is_named_by_rank_by_the_frameworks_id_or_by_the_stored_one(world: World, searched: Receipt):
    names: list[dict[str, Any]] = [
        {"rank": 1}, {"chunk_id": "a"},
        {"rank": 4}, {"chunk_id": "nul\0"}, {"chunk_id": "nul\\u0000"},
        {"rank": 5}, {"chunk_id": "x" * 600}, {"chunk_id": searched.hits[3][1]},
    ]  # fmt: skip
    for name in names:
        world.ledger.vote(str(searched.search_id), outcome="relevant", **name)
    assert [vote.rank for vote in world.sink.votes] == [1, 1, 4, 4, 4, 5, 5, 5]


def test_p7_an_opened_hit_is_noted_without_a_judgment(world: World, searched: Receipt):
    world.ledger.accessed(searched.search_id or "", rank=2, actor="human:ana")
    [vote] = world.sink.votes
    assert (vote.stage, vote.outcome, vote.rank, vote.checked) == ("accessed", None, 2, True)


MALFORMED: list[dict[str, Any]] = [
    {"search_id": None},
    {"search_id": "yesterday"},
    {"search_id": 7},
    {"search_id": ["x"]},
    {"chunk_id": None},
    {"chunk_id": "a", "rank": 1},
    {"chunk_id": ""},
    {"chunk_id": ["a"]},
    {"chunk_id": True},
    {"chunk_id": 0.5},
    {"chunk_id": None, "rank": 0},
    {"chunk_id": None, "rank": -1},
    {"chunk_id": None, "rank": 2**31},
    {"chunk_id": None, "rank": "1"},
    {"chunk_id": None, "rank": 1.0},
    {"chunk_id": None, "rank": True},
    {"outcome": None},
    {"outcome": "useful"},
    {"outcome": "RELEVANT"},
    {"outcome": 3},
    {"outcome": ["relevant"]},
    {"actor": "ana"},
    {"actor": ""},
    {"actor": ":ana"},
    {"actor": "robot:r2"},
    {"actor": "human:a\0"},
    {"actor": "human:\ud800"},
    {"actor": "human:" + "x" * 600},
    {"actor": 7},
]


@pytest.mark.parametrize("change", MALFORMED, ids=str)
def test_p7_a_malformed_reference_is_refused_and_nothing_is_stored(
    world: World, searched: Receipt, change: dict[str, Any]
):
    given: dict[str, Any] = {"search_id": searched.search_id, "chunk_id": "a", "outcome": "relevant"} | change
    with pytest.raises(MalformedReference) as caught:
        world.ledger.vote(given.pop("search_id"), given.pop("chunk_id"), given.pop("outcome"), **given)
    assert caught.value.reason == "malformed_reference"
    assert str(caught.value)
    assert world.sink.records == []
    assert world.faults == {}


@pytest.mark.parametrize(
    "name",
    [{"rank": 3}, {"rank": 6}, {"rank": 99}, {"chunk_id": "canary"}, {"chunk_id": 78}],
    ids=str,
)
@pytest.mark.parametrize("stage", ["vote", "accessed"])
def test_p7_a_hit_that_was_not_returned_is_refused_and_nothing_is_stored(
    world: World, searched: Receipt, name: dict[str, Any], stage: str
):
    world.ledger._parts.lookup = table = Table(HIT)
    with pytest.raises(HitNotReturned) as caught:
        if stage == "vote":
            world.ledger.vote(searched.search_id or "", outcome="relevant", **name)
        else:
            world.ledger.accessed(searched.search_id or "", **name)
    assert (caught.value.reason, caught.value.search_id) == ("hit_not_returned", searched.search_id)
    assert "canary" not in str(caught.value), "an id may be a text"
    assert world.sink.records == []
    assert table.asked == [], "its own searches are checked without the database"


def test_p7_the_three_refusals_are_different_errors_with_one_root():
    assert len({MalformedReference.reason, UnknownSearch.reason, HitNotReturned.reason}) == 3
    assert all(issubclass(kind, VoteRefused) for kind in (MalformedReference, UnknownSearch, HitNotReturned))


FRESH, OLD, FUTURE = NOW - timedelta(hours=23), NOW - timedelta(hours=25), NOW + timedelta(hours=2)


@pytest.mark.parametrize(
    ("made", "answer", "expected"),
    [
        (FRESH, HIT, 3),
        (OLD, HIT, 3),
        (None, HIT, 3),
        (FRESH, NO_HIT, HitNotReturned),
        (OLD, NO_HIT, HitNotReturned),
        (FRESH, NO_SEARCH, "pending"),
        (OLD, NO_SEARCH, UnknownSearch),
        (FUTURE, NO_SEARCH, UnknownSearch),
        (None, NO_SEARCH, UnknownSearch),
        (FRESH, DOWN, "pending"),
        (OLD, DOWN, "pending"),
        (FUTURE, DOWN, UnknownSearch),
        (None, DOWN, UnknownSearch),
    ],
)
@pytest.mark.parametrize("name", [{"rank": 3}, {"chunk_id": "c"}], ids=str)
def test_p7_a_search_of_another_process(
    world: World,
    made: datetime | None,
    answer: Votable | DatabaseUnavailable | None,
    expected: Any,
    name: dict[str, Any],
):
    """`made` None: an id that no ledger makes. The table wins; without it, the id tells what may still come."""
    search_id = id_at(made) if made is not None else uuid4()
    world.ledger._parts.lookup = table = Table(answer)
    if isinstance(expected, type):
        with pytest.raises(expected):
            world.ledger.vote(search_id, outcome="relevant", **name)
        assert world.sink.records == []
    else:
        receipt = world.ledger.vote(search_id, outcome="relevant", **name)
        [vote] = world.sink.votes
        if expected == "pending":
            assert receipt == Receipt(search_id=search_id, status="pending")
            assert (vote.checked, vote.rank, vote.chunk_id) == (False, name.get("rank"), name.get("chunk_id"))
        else:
            assert receipt == Receipt(search_id=search_id, status="journalled")
            assert (vote.checked, vote.rank, vote.chunk_id) == (True, 3, None)
    assert table.asked == [search_id]


def test_a_search_that_was_found_is_not_asked_for_again_and_another_answer_is(world: World):
    search_id = id_at(NOW)
    world.ledger._parts.lookup = table = Table(DOWN)
    for answer in (DOWN, NO_SEARCH, HIT, DOWN):
        table.answer = answer
        world.ledger.vote(search_id, rank=3, outcome="relevant")
    assert len(table.asked) == 3
    assert [vote.checked for vote in world.sink.votes] == [False, False, True, True]
    with pytest.raises(HitNotReturned):
        world.ledger.vote(search_id, rank=2, outcome="relevant")


def test_what_was_found_is_believed_for_a_minute(world: World, monkeypatch: pytest.MonkeyPatch):
    """Retention and erasure remove searches; and a search of very many hits is asked for each time."""
    search_id, wide = id_at(NOW), id_at(NOW - timedelta(minutes=1))
    world.ledger._parts.lookup = table = Table(HIT)
    world.ledger.vote(search_id, rank=3, outcome="relevant")
    later = time.monotonic() + 61
    monkeypatch.setattr("ragledger.known.time.monotonic", lambda: later)
    table.answer = NO_SEARCH
    assert world.ledger.vote(search_id, rank=3, outcome="relevant").status == "pending"
    table.answer = tuple([(rank, None) for rank in range(1, 200)])
    for _ in range(2):
        world.ledger.vote(wide, rank=3, outcome="relevant")
    assert table.asked == [search_id, search_id, wide, wide]


@pytest.mark.parametrize(("made", "status"), [(FRESH, "pending"), (OLD, "pending"), (None, None)])
def test_p7_where_no_database_is_ever_asked(world: World, made: datetime | None, status: str | None):
    world.ledger._parts.lookup = None
    if status is None:
        with pytest.raises(UnknownSearch):
            world.ledger.vote(uuid4(), rank=1, outcome="relevant")
    else:
        assert world.ledger.vote(id_at(made or NOW), rank=1, outcome="relevant").status == status


def test_the_deadline_is_a_setting(make_world: Callable[..., World]):
    world = make_world(vote_deadline_h=0.5)
    world.ledger._parts.lookup = Table(NO_SEARCH)
    assert (
        world.ledger.vote(id_at(NOW - timedelta(minutes=29)), rank=1, outcome="relevant").status == "pending"
    )
    with pytest.raises(UnknownSearch):
        world.ledger.vote(id_at(NOW - timedelta(minutes=31)), rank=1, outcome="relevant")


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(0), True),
        (timedelta(hours=24), True),
        (timedelta(hours=24, milliseconds=1), False),
        (timedelta(minutes=-59), True),  # another host's clock may be ahead
        (timedelta(minutes=-61), False),
    ],
)
def test_a_search_may_still_arrive_while_its_id_is_young(age: timedelta, expected: bool):
    assert may_still_arrive(id_at(NOW - age), NOW, 24) is expected


@pytest.mark.parametrize(
    "search_id",
    [uuid4(), UUID(int=0), UUID("ffffffff-ffff-7fff-bfff-ffffffffffff")],
    ids=["v4", "nil", "year 10889"],
)
def test_an_id_that_no_ledger_makes_never_arrives(search_id: UUID):
    assert not may_be_ours(search_id, NOW)
    assert not may_still_arrive(search_id, NOW, 24)


def test_p6_a_refused_vote_has_no_id(world: World, searched: Receipt):
    world.sink.refusal = "cap"
    receipt = world.ledger.vote(searched.search_id or "", rank=1, outcome="relevant")
    assert receipt == Receipt(search_id=None, status="refused", reason="cap")


def test_a_drivers_uuid_and_a_text_enum_are_taken_in_their_plain_form(world: World, searched: Receipt):
    class Verdict(str, enum.Enum):
        GOOD = "relevant"

    assert searched.search_id is not None
    world.ledger.vote(DriverUUID(int=searched.search_id.int), rank=1, outcome=Verdict.GOOD)
    [vote] = world.sink.votes
    assert (vote.search_id, vote.outcome) == (searched.search_id, "relevant")
    assert type(parse_reference(DriverUUID(int=7), None, 1).search_id) is UUID
    assert type(parse_outcome(Verdict.GOOD)) is str


def test_the_voter_is_who_is_named_else_who_the_context_names_else_the_system(
    world: World, searched: Receipt
):
    with ragledger.context(actor="agent:planner"):
        world.ledger.vote(searched.search_id or "", rank=1, outcome="relevant")
        world.ledger.vote(searched.search_id or "", rank=1, outcome="relevant", actor="judge")
    world.ledger.vote(searched.search_id or "", rank=1, outcome="relevant")
    voters = [(vote.actor_kind, vote.actor_id) for vote in world.sink.votes]
    assert voters == [("agent", "planner"), ("judge", None), ("system", None)]
    with ragledger.context(actor="robot"), pytest.raises(MalformedReference):
        world.ledger.vote(searched.search_id or "", rank=1, outcome="relevant")
    assert parse_actor("human:ana:lee") == ("human", "ana:lee")


def test_a_delivery_is_kept_in_its_order(world: World, searched: Receipt):
    receipt = world.ledger.deliver(
        searched.search_id or NOW,
        [4, 1],
        by="reranker",
        scores=[0.9, float("nan")],  # type: ignore[arg-type]
    )
    assert receipt.search_id == searched.search_id
    [record] = world.sink.records
    assert isinstance(record, DeliveryRecord)
    assert (record.by, record.hit_ranks, record.scores) == ("reranker", (4, 1), (0.9, None))
    world.ledger.deliver(searched.search_id, [])  # type: ignore[arg-type]
    last = world.sink.records[-1]
    assert isinstance(last, DeliveryRecord)
    assert (last.by, last.hit_ranks, last.scores) == ("application", (), None)


@pytest.mark.parametrize(
    ("ranks", "more"),
    [
        ([0], {}),
        (["1"], {}),
        ([1, None], {}),
        ([1], {"by": "magic"}),
        ([1], {"by": ["reranker"]}),
        ([1, 2], {"scores": [1.0]}),
    ],
    ids=str,
)
def test_a_malformed_delivery_is_refused(world: World, searched: Receipt, ranks: Any, more: dict[str, Any]):
    with pytest.raises(MalformedReference):
        world.ledger.deliver(searched.search_id, ranks, **more)  # type: ignore[arg-type]
    with pytest.raises(MalformedReference):
        world.ledger.deliver(None, [1])  # type: ignore[arg-type]
    assert world.sink.records == []


def test_p8_an_assessment_that_cannot_be_computed_is_unknown_and_not_zero(world: World, searched: Receipt):
    weights = {"confidence": 0.7, "coverage": 0.3}
    for value in (0.6, 0, None, float("nan")):
        world.ledger.assess(
            searched.search_id,
            "coverage",
            value,
            method="blend/1",
            weights=weights,  # type: ignore[arg-type]
        )
    weights["coverage"] = 1.0
    assessments = [record for record in world.sink.records if isinstance(record, AssessmentRecord)]
    assert [record.value for record in assessments] == [0.6, 0.0, None, None]
    assert {(record.name, record.method) for record in assessments} == {("coverage", "blend/1")}
    assert {record.weights for record in assessments} == {'{"confidence":0.7,"coverage":0.3}'}
    with pytest.raises(MalformedReference):
        world.ledger.assess("yesterday", "coverage", 1.0)  # type: ignore[arg-type]
    assert parse_reference(new_id(), "a", None).rank is None


def test_a_vote_is_given_at_once_where_nothing_has_to_be_waited_for(
    make_world: Callable[..., World], world: World, searched: Receipt
):
    """What an event loop may do itself: no table to ask, no disk, nobody else's commit."""
    asks_the_table = make_world(span_feedback=True)
    with asks_the_table.ledger.search() as search:
        search.candidates(Candidate("a"))
    assert world.ledger.votes_at_once(str(searched.search_id))
    assert world.ledger.votes_at_once("malformed")
    assert not world.ledger.votes_at_once(str(new_id()))
    assert not asks_the_table.ledger.votes_at_once(str(search.receipt.search_id))
    world.ledger.recorder.kept_as = "written"
    assert not world.ledger.votes_at_once(str(searched.search_id))
