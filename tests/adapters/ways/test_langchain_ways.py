"""P10 for LangChain and LangGraph: every call, however its recording was switched on, gives exactly the rows it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Listed, Table, documents
from adapters.ways import langchain_calls
from adapters.ways.calls import Calls, expected_of, outcome_of, run_all
from adapters.ways.langchain_calls import CALLS, GRAPHS, NESTED

import ragledger
from ragledger import Ledger
from ragledger_langchain import observe

pytestmark = [
    pytest.mark.pg,
    pytest.mark.usefixtures("no_faults"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # the frameworks' own
]

SWITCHES = ["observe", "instrument", "observe + instrument", "observe twice", "instrument twice"]


@pytest.fixture(params=SWITCHES)
def mark(
    request: pytest.FixtureRequest,
    ledger: Ledger,
    instrument: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Any], Any]:
    """What is done to a retriever, after what is done to the process."""
    words = request.param.split()
    for _ in range(2 if request.param == "instrument twice" else "instrument" in words):
        instrument(ledger=ledger)

    def marked(retriever: Any) -> Any:
        for _ in range(2 if request.param == "observe twice" else "observe" in words):
            retriever = observe(retriever, ledger)
        return retriever

    monkeypatch.setattr(langchain_calls, "MARK", [marked])
    return marked


@pytest.mark.parametrize("calls", [CALLS, NESTED, GRAPHS], ids=["calls", "nested", "graphs"])
async def test_p10_each_call_gives_its_rows(mark: Callable[[Any], Any], calls: Calls, table: Table) -> None:
    await run_all(calls, lambda: mark(Listed(found=documents("a", "b"))))
    assert outcome_of(table.searches()) == expected_of(calls)


async def test_p10_an_empty_answer_is_a_row_like_any(mark: Callable[[Any], Any], table: Table) -> None:
    await run_all(CALLS, lambda: mark(Listed(found=[])))
    rows = table.searches()
    assert outcome_of(rows) == expected_of(CALLS)
    assert {row["admitted_count"] for row in rows} == {0}


async def test_p10_one_retriever_of_1000_tasks(mark: Callable[[Any], Any], table: Table) -> None:
    retriever = mark(Listed(found=documents("a")))

    async def one(number: int) -> None:
        with ragledger.context(surface=str(number)):
            await retriever.ainvoke(f"q{number}")

    await asyncio.gather(*[one(number) for number in range(1000)])
    assert outcome_of(table.searches()) == {str(number): (1, 0, set()) for number in range(1000)}
