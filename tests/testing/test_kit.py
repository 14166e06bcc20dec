"""The kit that applications test with: light, and as real as the real thing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from unit.core import NOWHERE_ID

import ragledger
from ragledger import Candidate, ConfigError, HitNotReturned, MalformedReference, UnknownSearch
from ragledger.ids import time_of
from ragledger.registry import ledger_named
from ragledger.testing import (
    CapturedSpans,
    FrozenClock,
    MemoryLedger,
    MemoryNarrator,
    make_search,
    make_vote,
    memory_ledger,
)


def test_a_search_is_a_row_with_its_hits():
    with (
        memory_ledger(project="shop") as ledger,
        ragledger.context(surface="study", session_id="s"),
        ledger.search(corpus="c") as search,
    ):
        ledger.clock.forward(ms=3)
        search.candidates(Candidate("a", score=0.5), Candidate("b", score=0.1, admitted=False))
    row = ledger.row
    assert (row.project, row.corpus, row.surface, row.session_id) == ("shop", "c", "study", "s")
    assert (row.latency_ms, row.candidate_count, row.admitted_count) == (3.0, 2, 1)
    assert [(hit.rank, hit.chunk_id, hit.admitted) for hit in ledger.hits] == [
        (1, "a", True),
        (2, "b", False),
    ]
    assert search.receipt.search_id == row.search_id
    assert (search.receipt.status, search.receipt.hits) == ("journalled", ((1, "a"),))


def test_the_block_closes_the_ledger_and_what_it_recorded_stays():
    with memory_ledger(name="mine") as ledger:
        assert ledger_named("mine") is ledger
        ledger.skip(reason="no_goal")
    assert ledger_named("mine") is None
    assert [row.status for row in ledger.searches] == ["skipped"]


def test_every_kind_of_record_is_at_hand(memory_ledger: MemoryLedger):
    with memory_ledger.search() as search:
        search.candidates(Candidate("a"), Candidate("b"))
    search_id = search.receipt.search_id
    assert search_id is not None
    memory_ledger.vote(search_id, "b", "relevant", actor="human:ana")
    memory_ledger.accessed(search_id, rank=1)
    memory_ledger.deliver(search_id, [2, 1])
    memory_ledger.assess(search_id, "coverage", 0.5)
    assert [(vote.rank, vote.stage, vote.checked) for vote in memory_ledger.votes] == [
        (2, "judged", True),
        (1, "accessed", True),
    ]
    assert [record.hit_ranks for record in memory_ledger.deliveries] == [(2, 1)]
    assert [(record.name, record.value) for record in memory_ledger.assessments] == [("coverage", 0.5)]
    assert memory_ledger.flush()
    assert memory_ledger.facts()["published"] == 5


def test_a_vote_goes_through_the_real_rules(memory_ledger: MemoryLedger):
    memory_ledger.backend.put(search := make_search("a", "b"))
    assert memory_ledger.vote(search.search_id, rank=2, outcome="relevant").status == "journalled"
    with pytest.raises(HitNotReturned):
        memory_ledger.vote(search.search_id, "c", "relevant")
    with pytest.raises(MalformedReference):
        memory_ledger.vote("no id", "a", "relevant")
    with pytest.raises(UnknownSearch):
        memory_ledger.vote(NOWHERE_ID, "a", "relevant")
    assert len(memory_ledger.votes) == 1
    young = memory_ledger.recorder.new_id()
    assert memory_ledger.vote(young, "a", "relevant").status == "pending"


def test_ids_are_of_the_clocks_time_in_order_and_never_twice():
    clock = FrozenClock()
    with memory_ledger(name="a", clock=clock) as one, memory_ledger(name="b", clock=clock) as two:
        ids = [ledger.skip(reason="no_goal").search_id for ledger in (one, two) * 50]
    assert ids == sorted(set(ids), key=str)
    made = time_of(ids[0]) if ids[0] is not None else None
    assert made is not None
    assert made.isoformat() == "2026-09-21T14:13:20+00:00"


def test_a_refusal_on_purpose_says_why(make_memory_ledger):
    ledger = make_memory_ledger(strict=False)
    ledger.backend.refusal = "no_space"
    receipt = ledger.skip(reason="no_goal")
    assert (receipt.search_id, receipt.status, receipt.reason) == (None, "refused", "no_space")
    assert ledger.facts()["refused"] == {"no_space": 1}
    assert ledger.facts()["faults"] == {"refused:no_space": 1}


def test_a_setting_that_does_not_exist_is_refused_as_by_open():
    with pytest.raises(ConfigError), memory_ledger(projekt="shop"):
        pass


def test_spans_are_captured_beside_the_row(captured_spans: CapturedSpans, make_memory_ledger):
    ledger = make_memory_ledger(tracer_provider=captured_spans.provider)
    with ledger.search(corpus="c") as search:
        search.candidates(Candidate("a"))
    [span] = captured_spans.finished
    assert span.name == "retrieval"
    assert span.attributes["ragledger.search.id"] == str(ledger.row.search_id)
    assert span.context.span_id.to_bytes(8, "big") == ledger.row.span_id
    captured_spans.clear()
    assert captured_spans.finished == []


def test_without_an_sdk_a_narrator_writes_down_what_a_span_would_be_told():
    narrator = MemoryNarrator()
    ledger = MemoryLedger(narrator=narrator)
    with ledger.search(corpus="c"):
        pass
    ledger.close()
    assert [getattr(entry, "corpus", entry) for entry in narrator.log[:3]] == ["c", "attach", "detach"]
    assert narrator.log[3][:3] == ("close", "ok", "journalled")


def test_factories_have_meaning():
    search = make_search("a", "b", surface="study")
    assert [(hit.rank, hit.chunk_id) for hit in search.hits] == [(1, "a"), (2, "b")]
    assert (search.surface, search.status, search.root_id) == ("study", "ok", search.search_id)
    assert make_vote(search.search_id, 2).rank == 2


WITHOUT = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pytest", "psycopg"} or name.startswith("opentelemetry.sdk"):
            raise ImportError(name)
sys.meta_path.insert(0, Gone())
from ragledger.testing import CapturedSpans, make_search, make_vote, memory_ledger
with memory_ledger() as ledger, ledger.search():
    pass
assert len(ledger.searches) == 1
try:
    CapturedSpans()
except ImportError as exc:
    print(exc)
"""


def test_it_needs_neither_pytest_nor_a_driver_and_names_the_extra_of_the_sdk():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "captured spans need the SDK: pip install 'ragledger[otlp]'\n"


def test_import_ragledger_does_not_import_it():
    code = "import sys, ragledger; print([name for name in sys.modules if 'testing' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
