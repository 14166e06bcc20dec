"""Nothing is kept of a search that has ended, however it ended."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from adapters.langchain.world import Table, documents
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

import ragledger
from ragledger import Ledger
from ragledger.observation import Observation
from ragledger_langchain import observe


class Mixed(BaseRetriever):
    """Answers; fails for `bad`; hangs for `slow`, and says when it does."""

    hanging: ClassVar[asyncio.Event]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise NotImplementedError

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if query == "bad":
            raise ValueError(query)
        if query == "slow":
            self.hanging.set()
            await asyncio.sleep(60)
        return documents("a", "b", "c")


async def test_p4_d29_nothing_is_left_of_thousands_of_searches(ledger: Ledger, table: Table) -> None:
    retriever = observe(Mixed(), ledger)

    async def some(number: int) -> None:
        query = {0: "bad", 1: "slow"}.get(number % 100, "good")
        Mixed.hanging = asyncio.Event()
        task = asyncio.ensure_future(retriever.ainvoke(query))
        if query == "slow":
            await Mixed.hanging.wait()
            task.cancel()
        with contextlib.suppress(ValueError, asyncio.CancelledError):
            await task

    for number in range(300):
        await some(number)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(2000):
        await some(number)
    gc.collect()
    ours = [found for found in gc.get_objects() if isinstance(found, Observation) and found.ledger is ledger]
    assert ours == []
    assert not ragledger.current()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000
    by_status = {
        status: len(table.searches(f"status = '{status}'")) for status in ("ok", "error", "cancelled")
    }
    assert by_status == {"ok": 2254, "error": 23, "cancelled": 23}


def test_a_retriever_is_not_kept_alive(
    make_ledger: Callable[..., Ledger], instrument: Callable[..., Any]
) -> None:
    instrument(ledger=make_ledger(ship="sidecar"))

    def search() -> weakref.ref[Any]:
        class Passing(Mixed):
            def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
                return documents("a")

        retriever = Passing()
        retriever.invoke("q")
        return weakref.ref(retriever)

    kept = search()
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("outcome", ["good", "bad"])
async def test_a_task_that_outlives_its_search_starts_anew(
    outcome: str, ledger: Ledger, table: Table
) -> None:
    """It inherits the context of a search that has ended by then: no parent, and no merging with it either."""
    started: list[asyncio.Task[Any]] = []
    release = asyncio.Event()

    class Spawning(Mixed):
        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            async def later() -> None:
                await release.wait()
                await self.ainvoke(query)

            if not started:
                started.append(asyncio.create_task(later()))
            return documents("a")

    await observe(Spawning(), ledger).ainvoke(outcome)
    release.set()
    await started[0]
    assert [(row["depth"], row["parent_id"]) for row in table.searches()] == [(0, None), (0, None)]
