"""P10 for LlamaIndex: every call, however its recording was switched on, gives exactly the rows it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Table
from adapters.llama_index.doubles import ListRetriever, scored
from adapters.ways import llama_index_calls
from adapters.ways.calls import Calls, expected_of, outcome_of, run_all
from adapters.ways.llama_index_calls import CALLS, NESTED
from adapters.ways.llama_index_engines import AGENTS, ENGINES
from llama_index.core.callbacks import CallbackManager

import ragledger
from ragledger import Ledger
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor

pytestmark = [
    pytest.mark.pg,
    pytest.mark.usefixtures("no_faults"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # the frameworks' own
]

SWITCHES = ["handler", "instrument", "handler + instrument", "two handlers", "instrument twice"]
Make = Callable[[Any], ListRetriever]


@pytest.fixture(params=SWITCHES)
def make(request: pytest.FixtureRequest, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A retriever that gives what it is told, recorded by a way."""
    words = request.param.split()
    for _ in range(2 if "twice" in words else "instrument" in words):
        LlamaIndexInstrumentor().instrument(ledger=ledger)
    handlers = 2 if "two" in words else "handler" in words
    manager = CallbackManager([LedgerCallbackHandler(ledger) for _ in range(handlers)]) if handlers else None
    monkeypatch.setattr(llama_index_calls, "MANAGER", [manager])
    return lambda found: ListRetriever(found, callback_manager=manager)


@pytest.mark.parametrize(
    "calls", [CALLS, ENGINES, AGENTS, NESTED], ids=["calls", "engines", "agents", "nested"]
)
async def test_p10_each_call_gives_its_rows(make: Make, calls: Calls, table: Table) -> None:
    await run_all(calls, lambda: make(scored(("a", 0.9), ("b", 0.6))))
    assert outcome_of(table.searches()) == expected_of(calls)


async def test_p10_an_empty_answer_is_a_row_like_any(make: Make, table: Table) -> None:
    await run_all(CALLS, lambda: make([]))
    rows = table.searches()
    assert outcome_of(rows) == expected_of(CALLS)
    assert {row["admitted_count"] for row in rows} == {0}


async def test_p10_one_retriever_of_1000_tasks(make: Make, table: Table) -> None:
    retriever = make(scored(("a", 0.9)))

    async def one(number: int) -> None:
        with ragledger.context(surface=str(number)):
            await retriever.aretrieve(f"q{number}")

    await asyncio.gather(*[one(number) for number in range(1000)])
    assert outcome_of(table.searches()) == {str(number): (1, 0, set()) for number in range(1000)}
