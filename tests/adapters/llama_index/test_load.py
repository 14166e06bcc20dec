"""Many at once: nothing mixed, nothing left open, nothing growing. D29, D45, D46."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, scored

import ragledger
from ragledger_llama_index.hooks import hooks

pytestmark = pytest.mark.pg


class Yielding(ListRetriever):
    """Lets the other tasks run in the middle of each search, and has a child of its own."""

    async def _aretrieve(self, query_bundle: Any) -> Any:
        await asyncio.sleep(0)
        await self.result.aretrieve(query_bundle)
        await asyncio.sleep(0)
        return scored((ragledger.current().scope.surface, 1.0))

    def _retrieve(self, query_bundle: Any) -> Any:
        self.result.retrieve(query_bundle)
        return scored((ragledger.current().scope.surface, 1.0))


async def test_d45_concurrent_searches_keep_their_own_surface_and_root(ledger, manager, database):
    retriever = Yielding(ListRetriever(scored(("child", 1.0))), callback_manager=manager)

    async def one(number: int) -> None:
        with ragledger.context(surface=f"task-{number}"):
            await retriever.aretrieve("q")

    def in_thread(number: int) -> None:
        with ragledger.context(surface=f"thread-{number}"):
            retriever.retrieve("q")

    await asyncio.gather(*(one(number) for number in range(50)))
    threads = [threading.Thread(target=in_thread, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert ledger.flush()
    found = database.rows(
        """
        SELECT root.surface, count(child.search_id), bool_and(child.surface = root.surface), min(hits.chunk_id)
        FROM searches root
        JOIN searches child ON child.root_id = root.search_id AND child.parent_id = root.search_id
        JOIN hits ON hits.search_id = root.search_id
        WHERE root.depth = 0 AND root.root_id = root.search_id AND child.depth = 1
        GROUP BY root.search_id, root.surface
        """
    )
    expected = {f"{kind}-{number}" for kind in ("task", "thread") for number in range(50)}
    assert {row[0] for row in found} == expected
    assert all(count == 1 and same and chunk == surface for surface, count, same, chunk in found)
    assert len(found) == 100


def test_d46_one_retriever_in_8_threads_200_times_each(ledger, manager, database):
    retriever = ListRetriever(scored(("a", 0.9), ("b", 0.8)), callback_manager=manager)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [retriever.retrieve("q") for _ in range(200)], range(8)))
    assert ledger.flush(30)
    assert database.rows("SELECT status, depth, count(*) FROM searches GROUP BY 1, 2") == [("ok", 0, 1600)]
    assert database.value("SELECT count(*) FROM hits") == 3200


async def test_d29_nothing_stays_open_after_successes_failures_and_cancellations(ledger, manager, database):
    numbers = iter(range(1_000_000))

    async def sometimes(query: Any) -> Any:
        number = next(numbers)
        if number % 100 == 1:
            asyncio.get_running_loop().call_soon(asyncio.current_task().cancel)
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        if number % 100 == 2:
            raise LookupError
        return scored(("a", 0.9))

    class Mixed(BodyRetriever):
        async def _aretrieve(self, query_bundle: Any) -> Any:
            return await self.body(query_bundle)

    retriever = Mixed(sometimes, callback_manager=manager)

    async def one() -> None:
        with contextlib.suppress(LookupError, asyncio.CancelledError):
            await asyncio.create_task(retriever.aretrieve("q"))

    for _ in range(20):
        await asyncio.gather(*(one() for _ in range(100)))
    searches = hooks().searches
    assert not searches.open
    assert not searches._of
    assert not searches._failing
    assert ledger.flush(30)
    counts = database.rows("SELECT status, count(*) FROM searches GROUP BY 1 ORDER BY 1")
    assert counts == [("cancelled", 20), ("error", 20), ("ok", 1960)]
