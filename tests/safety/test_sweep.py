"""P3: whatever a line of our own code raises, the search is as without us and the next one is recorded rightly."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safety.sweep import Boom, Line, Raising, alines_of, lines_of

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from adapters.langchain.world import Listed, documents
from adapters.llama_index.doubles import ListRetriever, scored
from llama_index.core.callbacks import CallbackManager
from opentelemetry import trace

import ragledger
from ragledger import Candidate
from ragledger.journal.journal import Journal
from ragledger.model import Record, SearchRecord
from ragledger.scope import scope
from ragledger.testing import CapturedSpans, MemoryBackend, MemoryLedger, memory_ledger
from ragledger_langchain import observe
from ragledger_langchain.installed import known_state
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.hooks import hooks

WAYS = ["own code", "langchain", "llama_index"]
CONFIG: Any = {"metadata": {"ragledger.surface": "study"}}


class BesideJournal(MemoryBackend):
    """Puts every record into a real journal first: its lines and its lock are part of the path."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.journal = Journal(directory, project="test", cap_bytes=1 << 28)
        self.journal.prepare()

    def put(self, record: Record) -> str | None:
        refusal = self.journal.put(record)
        return refusal if refusal is not None else super().put(record)

    def close(self, timeout_s: float) -> None:
        self.journal.release()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[MemoryLedger]:
    logging.disable(logging.CRITICAL)  # a thousand faults on purpose
    provider = CapturedSpans().provider
    try:
        with memory_ledger(backend=BesideJournal(tmp_path), tracer_provider=provider, strict=False) as found:
            yield found
    finally:
        logging.disable(logging.NOTSET)


def own_search(ledger: MemoryLedger) -> Callable[[], Any]:
    answer = object()

    def search() -> object:
        with ledger.search(corpus="c", surface="study", weights={"vector": 1.0}, top_k=2) as found:
            found.candidates(
                Candidate("a", vector=0.5, score=0.5), Candidate("b", signals={"x": 1.0}, admitted=False)
            )
            return answer

    return search


def sync_search(way: str, ledger: MemoryLedger) -> Callable[[], Any]:
    if way == "own code":
        return own_search(ledger)
    if way == "langchain":
        observed = observe(Listed(found=documents("a", "b")), ledger, corpus="c")
        return lambda: observed.invoke("q", CONFIG)
    handler = LedgerCallbackHandler(ledger, corpus="c")
    marked = ListRetriever(scored(("a", 0.5), ("b", 0.4)), callback_manager=CallbackManager([handler]))
    return lambda: marked.retrieve("q")


def async_search(way: str, ledger: MemoryLedger) -> Callable[[], Any]:
    if way == "langchain":
        observed = observe(Listed(found=documents("a", "b")), ledger, corpus="c")
        return lambda: observed.ainvoke("q", CONFIG)
    handler = LedgerCallbackHandler(ledger, corpus="c")
    marked = ListRetriever(scored(("a", 0.5), ("b", 0.4)), callback_manager=CallbackManager([handler]))
    return lambda: marked.aretrieve("q")


def faults_of(ledger: MemoryLedger) -> int:
    guards = (ledger.guard, known_state().guard, hooks().searches.guard)
    return sum(count for guard in guards for count in guard.faults.values())


def essence(row: SearchRecord) -> tuple[Any, ...]:
    return (
        *(row.status, row.depth, row.parent_id, row.corpus, row.weights, row.epoch, row.flags, row.hits),
        *(row.admitted_count, row.candidate_count, row.span_owner),
    )


def left_behind() -> list[str]:
    """What a search must not leave in its caller's context and in the process."""
    searches = hooks().searches
    found = {
        "an open search": bool(ragledger.current()),
        "a current span": trace.get_current_span() is not trace.INVALID_SPAN,
        "a scope": scope().surface is not None,
        "an entry of the dispatcher's handlers": bool(searches.open or searches._of or searches._failing),
    }
    return [name for name, there in found.items() if there]


class Trial:
    """One fault at one line, then a search in the same place and one in another thread."""

    def __init__(self, ledger: MemoryLedger, expected: Any, usual: SearchRecord, again: Callable[[], Any]):
        self.ledger, self.expected, self.usual, self.again = ledger, expected, usual, again
        self.wrong: list[str] = []
        self.reached = 0

    def judge(self, at: Line, fault: BaseException, outcome: Any, counted: int) -> None:
        rows, records = self.ledger.searches, self.ledger.backend.records
        records.clear()
        if outcome is not fault and outcome != self.expected:
            self.wrong.append(f"{at}: the caller got {outcome!r}")
        if isinstance(fault, Exception) and fault.__traceback__ is not None:  # it was raised
            if outcome is fault:
                self.wrong.append(f"{at}: it reached the caller")
            elif not counted and [essence(row) for row in rows] != [essence(self.usual)]:
                self.wrong.append(f"{at}: not counted")
        self.wrong.extend(f"{at}: left {what}" for what in left_behind())

    def judge_next(self, at: Line) -> None:
        elsewhere = threading.Thread(target=contextvars.Context().run, args=(self.again,), daemon=True)
        elsewhere.start()
        elsewhere.join(60)
        if elsewhere.is_alive():
            self.wrong.append(f"{at}: a lock is left held")
            return
        rows = self.ledger.searches
        self.ledger.backend.records.clear()
        if [essence(row) for row in rows] != [essence(self.usual)] * 2:
            self.wrong.append(f"{at}: the next search is {[(row.status, row.depth) for row in rows]}")


def swept(lines: list[Line]) -> list[Line]:
    inside = [line for line in lines if line.may_fail]
    assert len(inside) > 100, "nothing to sweep"
    modules = {line.module for line in inside}
    assert "ragledger/spans/narrator.py" in modules
    assert any(module.startswith("ragledger/journal/") for module in modules)
    return inside


@pytest.mark.parametrize("kind", [Boom, KeyboardInterrupt])
@pytest.mark.parametrize("way", WAYS)
def test_p3_a_line_of_ours_that_raises_costs_the_search_nothing(
    ledger: MemoryLedger, way: str, kind: type[BaseException]
):
    search = sync_search(way, ledger)
    search()
    expected, usual = search(), ledger.searches[-1]
    trial = Trial(ledger, expected, usual, search)

    def try_at(at: Line) -> None:
        fault, before = kind(), faults_of(ledger)
        ledger.backend.records.clear()
        raising = Raising(at, fault)
        try:
            with raising:
                outcome = search()
        except BaseException as exc:
            outcome = exc
        trial.reached += not raising.left  # a line that is only sometimes run, such as a segment's end
        trial.judge(at, fault, outcome, faults_of(ledger) - before)
        search()
        trial.judge_next(at)

    for at in swept(lines_of(search)):
        contextvars.copy_context().run(try_at, at)
    assert trial.wrong == []
    assert trial.reached > 100


@pytest.mark.parametrize("kind", [Boom, KeyboardInterrupt])
@pytest.mark.parametrize("way", WAYS[1:])
async def test_p3_the_same_in_a_task(ledger: MemoryLedger, way: str, kind: type[BaseException]):
    search, again = async_search(way, ledger), sync_search(way, ledger)
    await search()
    expected, usual = await search(), ledger.searches[-1]
    trial = Trial(ledger, expected, usual, again)
    for at in swept(await alines_of(search)):
        fault, before = kind(), faults_of(ledger)
        ledger.backend.records.clear()
        raising = Raising(at, fault)
        try:
            with raising:
                outcome = await search()
        except BaseException as exc:
            outcome = exc
        trial.reached += not raising.left  # a line that is only sometimes run, such as a segment's end
        trial.judge(at, fault, outcome, faults_of(ledger) - before)
        await search()
        trial.judge_next(at)
    assert trial.wrong == []
    assert trial.reached > 100
