"""What every adapter promises, as one suite of tests: ours run it, and a third party's can.

```python
class TestMine(AdapterConformance):
    world = MyWorld()
```

Needs pytest. It runs on a ledger in memory, so it needs no database.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import ragledger
from ragledger import Candidate, HitNotReturned, Ledger

from .clock import FrozenClock
from .ledger import MemoryLedger, memory_ledger

__all__ = ["AdapterConformance", "Item", "World"]

QUERY, CHUNK, MESSAGE = "CANARY-QUERY", "CANARY-CHUNK", "CANARY-MESSAGE"


@dataclass(frozen=True)
class Item:
    """Something that a retriever returns. The text must reach nothing of ours."""

    chunk_id: str
    score: Any = None
    document_id: str | None = None
    text: str = CHUNK


class World(ABC):
    """An adapter, as the suite sees it.

    `framework` is the word in the column of that name; `knows_the_query`: its openings say what was `asked`.
    """

    framework: str
    asynchronous: bool = False
    knows_the_query: bool = True

    @abstractmethod
    def items(self, items: Sequence[Item]) -> Any:
        """The items as the framework's own objects, scores as they are: also those that it would not let in."""

    @abstractmethod
    def retriever(self, ledger: Ledger | None, body: Callable[[str], Any]) -> Any:
        """A retriever whose search calls `body(query)` and returns what that returns; None: nobody observes it."""

    @abstractmethod
    def search(self, retriever: Any, query: str) -> Any:
        """One search by the public, sync way."""

    async def asearch(self, retriever: Any, query: str) -> Any:
        """The same by the async way; needed where `asynchronous` says so."""
        raise NotImplementedError

    def slow(self, ledger: Ledger, seconds: float) -> Any:
        """A retriever that takes its time on the loop; needed where `asynchronous` says so."""
        raise NotImplementedError

    def run(self, retriever: Any, query: str = QUERY) -> Any:
        """One search by the way that this world is about."""
        if not self.asynchronous:
            return self.search(retriever, query)
        return asyncio.run(self.asearch(retriever, query))


class AdapterConformance:
    """Derive from it and set `world`."""

    world: ClassVar[World]

    @pytest.fixture
    def ledgers(self) -> Iterator[Callable[..., MemoryLedger]]:
        """Opens ledgers in memory; afterwards no search may be open."""
        with ExitStack() as stack:
            yield lambda **given: stack.enter_context(memory_ledger(**given))
        assert not ragledger.current(), "a search was left open"

    @pytest.fixture
    def ledger(self, ledgers: Callable[..., MemoryLedger]) -> MemoryLedger:
        """A strict one: a fault of the adapter fails the test."""
        return ledgers()

    def returning(self, ledger: Ledger | None, *items: Item) -> tuple[Any, Any]:
        """A retriever, and what it returns."""
        found = self.world.items(items)
        return self.world.retriever(ledger, lambda _: found), found

    # --- the search is as without us -------------------------------------------------------------------------

    def test_p3_what_comes_back_is_what_would_have_come_back(self, ledger: MemoryLedger) -> None:
        found = self.world.items([Item("a", 0.5), Item("b", 0.25)])
        plain = self.world.run(self.world.retriever(None, lambda _: found))
        observed = self.world.run(self.world.retriever(ledger, lambda _: found))
        assert type(observed) is type(plain)
        assert [id(each) for each in observed] == [id(each) for each in plain]
        assert len(ledger.searches) == 1

    def test_p3_the_exception_is_the_same_object(self, ledger: MemoryLedger) -> None:
        fault = LookupError(MESSAGE)
        with pytest.raises(LookupError) as caught:
            self.world.run(self.world.retriever(ledger, _raising(fault)))
        assert caught.value is fault
        assert caught.traceback[-1].name == "body"
        row = ledger.row
        assert (row.status, row.error_type, row.error_origin) == ("error", "LookupError", "caller")
        assert (row.hits, row.admitted_count, row.degraded) == ((), None, False)

    def test_p3_ctrl_c_goes_through(self, ledger: MemoryLedger) -> None:
        if self.world.asynchronous:
            pytest.skip("a loop has ways of its own with it")
        with pytest.raises(KeyboardInterrupt):
            self.world.run(self.world.retriever(ledger, _raising(KeyboardInterrupt())))
        assert ledger.row.status == "cancelled"

    def test_p3_a_timeout_cancels(self, ledger: MemoryLedger) -> None:
        if not self.world.asynchronous:
            pytest.skip("nothing to cancel")

        async def main() -> bool:
            task = asyncio.ensure_future(self.world.asearch(self.world.slow(ledger, 60.0), QUERY))
            while not task.done():
                await asyncio.sleep(0.01)
                task.cancel()
            return task.cancelled()

        assert asyncio.run(main())
        assert (ledger.row.status, ledger.row.admitted_count) == ("cancelled", None)

    def test_p3_a_fault_of_ours_is_counted_and_costs_nothing_else(self, ledgers: Any) -> None:
        ledger = ledgers(strict=False)
        ledger.recorder.new_id = _raising(RuntimeError(MESSAGE))
        retriever, _ = self.returning(ledger, Item("a"))
        assert len(self.world.run(retriever)) == 1
        assert sum(ledger.guard.faults.values()) == 1
        assert ledger.searches == []

    # --- one row, and what it says ----------------------------------------------------------------------------

    def test_p10_one_search_is_one_root(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a", document_id="d1"), Item("b"))
        self.world.run(retriever)
        row = ledger.row
        assert (row.depth, row.parent_id, row.root_id) == (0, None, row.search_id)
        assert (row.framework, row.status, row.flags) == (self.world.framework, "ok", ())
        assert (row.candidate_count, row.admitted_count) == (2, 2)
        assert (row.attempt_of, row.served_from, row.degraded) == (None, None, False)
        assert [(hit.rank, hit.chunk_id, hit.document_id, hit.admitted) for hit in ledger.hits] == [
            (1, "a", "d1", True),
            (2, "b", None, True),
        ]

    def test_p10_a_hundred_searches_at_once_are_a_hundred_rows(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a"))

        def one(surface: str) -> None:
            with ragledger.context(surface=surface):
                self.world.run(retriever)

        names = [f"s{number}" for number in range(100)]
        threads = [threading.Thread(target=one, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(str(row.surface) for row in ledger.searches) == sorted(names)
        assert {row.depth for row in ledger.searches} == {0}

    @pytest.mark.parametrize(
        ("score", "stored"),
        [
            (0.25, 0.25),
            (0.0, 0.0),
            (-0.5, -0.5),
            (1, 1.0),
            ("0.25", 0.25),
            (None, None),
            (float("nan"), None),
            (float("inf"), None),
            ("VERY_HIGH", None),
        ],
    )
    def test_p8_a_score_is_a_number_or_unknown(self, ledger: MemoryLedger, score: Any, stored: Any) -> None:
        retriever, _ = self.returning(ledger, Item("a", score))
        self.world.run(retriever)
        [hit] = ledger.hits
        assert hit.score == stored
        assert (hit.score_kind == "none") is (stored is None)

    def test_p8_a_score_of_numpy(self, ledger: MemoryLedger) -> None:
        numpy = pytest.importorskip("numpy")
        retriever, _ = self.returning(ledger, Item("a", numpy.float32(0.25)))
        self.world.run(retriever)
        assert type(ledger.hits[0].score) is float
        assert ledger.hits[0].score == 0.25

    def test_p8_d09_one_without_a_score_among_others(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a", 0.9), Item("b"), Item("c", 0.4))
        self.world.run(retriever)
        assert [hit.score for hit in ledger.hits] == [0.9, None, 0.4]

    def test_a_chunk_that_comes_twice_is_one_hit_at_its_best_rank(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a", 0.9), Item("b", 0.5), Item("a", 0.4))
        self.world.run(retriever)
        assert [(hit.rank, hit.chunk_id, hit.score) for hit in ledger.hits] == [(1, "a", 0.9), (2, "b", 0.5)]
        assert ledger.row.admitted_count == 2

    def test_p8_nothing_found_is_an_answer(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger)
        assert list(self.world.run(retriever)) == []
        assert (ledger.row.status, ledger.row.admitted_count, ledger.row.candidate_count) == ("ok", 0, 0)

    def test_d50_latency_is_of_a_clock_that_never_steps_back(self, ledgers: Any) -> None:
        clock = FrozenClock()
        ledger = ledgers(clock=clock)
        found = self.world.items([Item("a")])

        def body(query: str) -> Any:
            clock.forward(ms=12)
            clock.wall -= 5_000_000_000
            return found

        started = clock.wall // 1000
        self.world.run(self.world.retriever(ledger, body))
        assert (ledger.row.latency_ms, ledger.row.started_at) == (12.0, started)

    # --- what is around it --------------------------------------------------------------------------------------

    def test_a_search_inside_a_search_is_below_it(self, ledger: MemoryLedger) -> None:
        inner, found = self.returning(ledger, Item("a"))

        def body(query: str) -> Any:
            self.world.search(inner, query + "!")
            return found

        self.world.run(self.world.retriever(ledger, body))
        below, above = ledger.searches  # in the order in which they ended
        assert (above.depth, below.depth) == (0, 1)
        assert below.parent_id == below.root_id == above.search_id

    def test_d06_a_member_that_answers_for_one_that_failed_is_an_attempt(self, ledger: MemoryLedger) -> None:
        if not self.world.knows_the_query:
            pytest.skip("nobody can tell a second attempt from another search")
        first = self.world.retriever(ledger, _raising(ConnectionError(MESSAGE)))
        second, found = self.returning(ledger, Item("a"))

        def body(query: str) -> Any:
            with pytest.raises(ConnectionError):
                self.world.search(first, query)
            self.world.search(second, query)
            return found

        self.world.run(self.world.retriever(ledger, body))
        failed, answered, above = ledger.searches
        assert (answered.attempt_of, answered.degraded_reason) == (failed.search_id, "fallback")
        assert (above.attempt_of, above.degraded) == (None, False)

    def test_context_is_said_of_it(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a"))
        with ragledger.context(surface="study", session_id="s1", actor="human:ana", corpus="handbook"):
            self.world.run(retriever)
        row = ledger.row
        assert (row.surface, row.session_id, row.actor_kind, row.actor_id, row.corpus) == (
            *("study", "s1", "human", "ana", "handbook"),
        )

    def test_suppressed_it_is_not_there(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a"))
        with ragledger.suppress(), ragledger.capture() as receipts:
            assert len(self.world.run(retriever)) == 1
        assert (ledger.searches, receipts) == ([], [])

    def test_the_retrievers_own_code_hands_over_its_signals(self, ledger: MemoryLedger) -> None:
        found = self.world.items([Item("a")])

        def body(query: str) -> Any:
            search = ragledger.current()
            search.candidates(Candidate("a", vector=0.7), Candidate("b", vector=0.1, admitted=False))
            search.degrade("lexical_unavailable")
            return found

        self.world.run(self.world.retriever(ledger, body))
        assert [(hit.chunk_id, hit.vector_score, hit.admitted) for hit in ledger.hits] == [
            ("a", 0.7, True),
            ("b", 0.1, False),
        ]
        assert ledger.row.degraded_reason == "lexical_unavailable"

    # --- receipts and votes ---------------------------------------------------------------------------------------

    def test_p7_a_vote_needs_a_hit_that_was_returned(self, ledger: MemoryLedger) -> None:
        retriever, _ = self.returning(ledger, Item("a"), Item("b"))
        with ragledger.capture() as receipts:
            self.world.run(retriever)
        [receipt] = receipts
        assert receipt.search_id is not None
        assert (receipt.status, receipt.hits) == ("journalled", ((1, "a"), (2, "b")))
        ledger.vote(receipt.search_id, "b", "relevant")
        with pytest.raises(HitNotReturned):
            ledger.vote(receipt.search_id, "c", "relevant")
        assert [vote.rank for vote in ledger.votes] == [2]

    def test_p6_without_a_row_there_is_no_id(self, ledger: MemoryLedger) -> None:
        ledger.backend.refusal = "cap"
        retriever, _ = self.returning(ledger, Item("a"))
        with ragledger.capture() as receipts:
            assert len(self.world.run(retriever)) == 1
        assert [(receipt.search_id, receipt.status, receipt.reason) for receipt in receipts] == [
            (None, "refused", "cap")
        ]
        assert ledger.guard.faults == {"refused:cap": 1}

    # --- privacy --------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("fault", [None, LookupError(MESSAGE)])
    def test_p9_no_text_anywhere(self, ledgers: Any, fault: Exception | None) -> None:
        from .spans import CapturedSpans

        spans = CapturedSpans()
        ledger = ledgers(strict=False, tracer_provider=spans.provider)
        with _logged() as lines:
            retriever, _ = self.returning(ledger, Item("a", "VERY_HIGH", text=CHUNK))
            if fault is not None:
                retriever = self.world.retriever(ledger, _raising(fault))
            try:
                self.world.run(retriever)
            except LookupError:
                assert fault is not None
        told = repr([ledger.backend.records, [span.to_json() for span in spans.finished], lines])
        assert ledger.row.status == ("ok" if fault is None else "error")
        assert len(spans.finished) == 1
        assert not [word for word in (QUERY, CHUNK, MESSAGE) if word in told]


def _raising(fault: BaseException) -> Callable[..., Any]:
    def body(*_: Any) -> Any:
        raise fault

    return body


@contextmanager
def _logged() -> Iterator[list[str]]:
    """What our loggers say, from the smallest on."""
    lines: list[str] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {record.exc_info}")

    handler, loggers = Noting(), [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    ours = [logger for logger in loggers if logger.name.startswith("ragledger")]
    levels = [logger.level for logger in ours]
    for logger in ours:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        for logger, level in zip(ours, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
