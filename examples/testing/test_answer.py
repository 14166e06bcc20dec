"""An application's own tests: its retrieval, a vote, and what it does when nothing could be kept."""

from __future__ import annotations

import pytest

import ragledger
from ragledger import Candidate, HitNotReturned, Ledger
from ragledger.testing import FrozenClock, MemoryLedger, make_search


def answer(question: str, ledger: Ledger, clock: FrozenClock) -> list[str]:
    """The application: two chunks for every question, the second one below its threshold."""
    with ledger.search(corpus="handbook", top_k=5, weights={"vector": 1.0, "threshold": 0.5}) as search:
        clock.forward(ms=12)  # what the database would take
        search.candidates(Candidate("refunds", score=0.8), Candidate("returns", score=0.3, admitted=False))
    return ["refunds"]


def test_a_search_is_recorded(memory_ledger: MemoryLedger) -> None:
    with ragledger.context(surface="study", actor="human:ana"):
        assert answer("How long may I wait?", memory_ledger, memory_ledger.clock) == ["refunds"]
    search = memory_ledger.row
    assert (search.surface, search.actor_kind, search.latency_ms) == ("study", "human", 12.0)
    assert [(hit.rank, hit.chunk_id, hit.admitted) for hit in memory_ledger.hits] == [
        (1, "refunds", True),
        (2, "returns", False),
    ]


def test_a_vote_needs_a_hit_that_was_returned(memory_ledger: MemoryLedger) -> None:
    search = make_search("a", "b")  # of another process: it returned a, then b
    memory_ledger.backend.put(search)
    assert memory_ledger.vote(search.search_id, "b", "relevant", actor="human:ana").status == "journalled"
    with pytest.raises(HitNotReturned):
        memory_ledger.vote(search.search_id, "c", "relevant")
    assert [(vote.rank, vote.outcome) for vote in memory_ledger.votes] == [(2, "relevant")]


def test_an_answer_comes_also_when_nothing_can_be_kept(memory_ledger: MemoryLedger) -> None:
    memory_ledger.backend.refusal = "cap"
    with ragledger.capture() as receipts:
        assert answer("How long may I wait?", memory_ledger, memory_ledger.clock) == ["refunds"]
    assert [(receipt.search_id, receipt.reason) for receipt in receipts] == [(None, "cap")]
