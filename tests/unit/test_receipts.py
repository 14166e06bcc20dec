"""P6: `search_id` is None exactly when there is nothing durable to attach a vote to."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from uuid import UUID

import pytest
from unit.core import NOWHERE_ID, World

import ragledger
from ragledger import Candidate, HitNotReturned
from ragledger.ids import new_id
from ragledger.known import KnownSearches
from ragledger.model import Receipt, Returned, votable
from ragledger.observation import Opening


def test_p6_a_search_that_found_nothing_has_an_id(world: World):
    with world.ledger.search() as search:
        pass
    assert search.receipt == Receipt(search_id=search.search_id, status="journalled", hits=())
    assert search.receipt.search_id == world.sink.row.search_id


def test_p6_a_failed_search_and_a_skip_have_an_id(world: World):
    with pytest.raises(ValueError), world.ledger.search() as search:
        raise ValueError
    skipped = world.ledger.skip(reason="no_goal")
    assert [search.receipt.search_id, skipped.search_id] == [row.search_id for row in world.sink.searches]


@pytest.mark.parametrize("reason", ["cap", "no_space", "no_journal"])
def test_p6_what_was_refused_has_no_id_and_says_why(world: World, reason: str):
    world.sink.refusal = reason
    with world.ledger.search() as search:
        search.candidates(Candidate("a"))
    refused = Receipt(search_id=None, status="refused", reason=reason)
    assert search.receipt == world.ledger.skip(reason="no_goal") == refused
    assert world.faults == {f"refused:{reason}": 2}
    assert world.ledger.recorder.known.hits_of(search.search_id or NOWHERE_ID) is None
    assert world.narrator.log[-1][:3] == ("close", "ok", "refused")


def test_p6_an_open_search_has_none_yet(world: World):
    with world.ledger.search() as search:
        assert (search.receipt.search_id, search.receipt.reason) == (None, "still_open")
    assert search.receipt.search_id is not None


def test_the_receipt_lists_what_may_be_voted_on(world: World):
    with world.ledger.search() as search:
        search.candidates(*map(Candidate, "aba"), Candidate("c", admitted=False), Candidate("d\0"))
    assert search.receipt.hits == ((1, "a"), (2, "b"), (4, "d\\u0000"))


def test_a_real_journal_gives_the_same_receipts(tmp_path: Any):
    directory = tmp_path / "a text is a path too"
    real = ragledger.open(
        "postgresql://127.0.0.1:1/nowhere", ship="sidecar", strict=True, journal_dir=str(directory)
    )
    with closing(real), real.search() as search:
        search.candidates(Candidate("a"))
    assert search.receipt == Receipt(search_id=search.search_id, status="journalled", hits=((1, "a"),))
    assert list(directory.glob("*/*.seg"))


def test_known_searches_are_bounded_and_forget_the_oldest():
    known = KnownSearches(limit=16)
    ids = [UUID(int=number) for number in range(100)]
    for number, search_id in enumerate(ids):
        known.remember(search_id, ((1, str(number)),))
    remembered = [search_id for search_id in ids if known.hits_of(search_id) is not None]
    assert 8 <= len(remembered) <= 16
    assert remembered == ids[-len(remembered) :]
    assert known.hits_of(ids[-1]) == ((1, "99"),)


def test_known_searches_take_part_of_many_threads_at_once(world: World):
    from concurrent.futures import ThreadPoolExecutor

    known = KnownSearches(limit=64)

    def work(_: int) -> int:
        for _ in range(500):
            search_id = new_id()
            known.remember(search_id, ())
            known.hits_of(search_id)
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 8
    assert len(known._hits) <= 64 + 8


def test_a_vote_on_a_skip_or_a_failed_search_names_no_hit(world: World):
    skipped = world.ledger.skip(reason="no_goal")
    assert skipped.search_id is not None
    with pytest.raises(HitNotReturned):
        world.ledger.vote(skipped.search_id, rank=1, outcome="relevant")
    assert world.sink.votes == []


def test_p7_what_may_be_voted_on_is_what_was_returned_whatever_becomes_of_the_adapter_s_list(world: World):
    ids = ["a", "b"]
    observation = world.ledger.recorder.open(Opening(framework="other"))
    observation.finish(Returned(chunk_ids=ids, document_ids=[None, None]))
    ids[:] = ["x", "b", "c"]
    hits = ((1, "a"), (2, "b"))
    assert world.ledger.recorder.known.hits_of(observation.search_id) == observation.receipt.hits == hits
    with pytest.raises(HitNotReturned):
        world.ledger.vote(observation.search_id, "x", "relevant")


def test_p7_nor_while_the_sink_keeps_the_row(world: World, monkeypatch: pytest.MonkeyPatch):
    ids, put = ["a"], world.sink.put

    def change(record: Any) -> Any:
        refusal = put(record)
        ids.append("b")
        return refusal

    monkeypatch.setattr(world.ledger.recorder._sink, "put", change)
    observation = world.ledger.recorder.open(Opening(framework="other"))
    observation.finish(Returned(chunk_ids=ids, document_ids=[None]))
    assert observation.receipt.hits == ((1, "a"),)


@pytest.mark.parametrize(
    ("admitted", "pairs"),
    [
        ((), ()),
        (("a", "b"), ((1, "a"), (2, "b"))),
        (((1, "a"), (3, None)), ((1, "a"), (3, None))),
        (((2, None),), ((2, None),)),
    ],
)
def test_what_is_kept_of_the_hits_gives_the_pairs(admitted: Any, pairs: Any):
    assert votable(admitted) == pairs
