"""Threads, tasks and busy threads at once, on a real journal and a real table: every row is its own search's."""

from __future__ import annotations

import asyncio
import faulthandler
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from adapters.langchain.world import document
from fix_pg import Database
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore, TextNode

import ragledger
from ragledger import Candidate, Ledger, Receipt
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

pytestmark = pytest.mark.pg

THREADS = 64
PER_THREAD = 6
TASKS = 1000
WAYS = ("own", "langchain", "llama_index")


@pytest.fixture(autouse=True)
def _no_deadlock() -> Iterator[None]:
    """Where every thread stands is said before the runner's own timeout ends the process."""
    faulthandler.dump_traceback_later(100, exit=False)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def busy() -> Iterator[None]:
    """Two threads that never let go of the interpreter by themselves."""
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=burn, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield
    stop.set()
    for thread in threads:
        thread.join()


class Members(LangChainRetriever):
    """Finds what the query says; its member, a search inside of it, finds the same."""

    member: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        if self.member is not None:
            self.member.invoke(query)
        return [document(f"{query}-1"), document(f"{query}-2")]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        await asyncio.sleep(0)
        if self.member is not None:
            await self.member.ainvoke(query)
        await asyncio.sleep(0)
        return [document(f"{query}-1"), document(f"{query}-2")]


class Nodes(LlamaIndexRetriever):
    """The same for LlamaIndex."""

    def __init__(self, member: Any, **kwargs: Any) -> None:
        self.member = member
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: Any) -> Any:
        query = query_bundle.query_str
        if self.member is not None:
            self.member.retrieve(query)
        return nodes(query)

    async def _aretrieve(self, query_bundle: Any) -> Any:
        query = query_bundle.query_str
        await asyncio.sleep(0)
        if self.member is not None:
            await self.member.aretrieve(query)
        await asyncio.sleep(0)
        return nodes(query)


def nodes(query: str) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=f"{query}-{rank}", text="t"), score=1.0 / rank) for rank in (1, 2)
    ]


@dataclass
class Fleet:
    """The retrievers that everybody shares, and the receipts that each caller was given."""

    ledger: Ledger
    receipts: dict[str, list[Receipt]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        manager = CallbackManager([LedgerCallbackHandler(self.ledger)])
        self.chain = observe(Members(member=observe(Members(), self.ledger)), self.ledger)
        self.index = Nodes(Nodes(None, callback_manager=manager), callback_manager=manager)

    def context(self, name: str) -> Any:
        return ragledger.context(surface=f"at-{name}", session_id=f"of-{name}", actor=f"human:{name}")

    def search(self, name: str, way: str) -> None:
        with self.context(name), ragledger.capture() as receipts:
            if way == "own":
                with self.ledger.search() as search, self.ledger.search() as member:
                    member.candidates(Candidate(f"{name}-1"), Candidate(f"{name}-2"))
                    search.candidates(Candidate(f"{name}-1"), Candidate(f"{name}-2"))
            elif way == "langchain":
                self.chain.invoke(name)
            else:
                self.index.retrieve(name)
            self.note(name, receipts)

    async def asearch(self, name: str, way: str) -> None:
        with self.context(name), ragledger.capture() as receipts:
            if way == "own":
                with self.ledger.search() as search:
                    await asyncio.sleep(0)
                    with self.ledger.search() as member:
                        await asyncio.sleep(0)
                        member.candidates(Candidate(f"{name}-1"), Candidate(f"{name}-2"))
                    search.candidates(Candidate(f"{name}-1"), Candidate(f"{name}-2"))
            elif way == "langchain":
                await self.chain.ainvoke(name)
            else:
                await self.index.aretrieve(name)
            self.note(name, receipts)

    def note(self, name: str, receipts: list[Receipt]) -> None:
        """Its own receipts: one of the search that it made, none of the member's, none of anybody else's."""
        expected = ((1, f"{name}-1"), (2, f"{name}-2"))
        if [(receipt.status, receipt.hits) for receipt in receipts] != [("journalled", expected)]:
            self.wrong.append(f"{name}: {receipts}")
        if ragledger.current():
            self.wrong.append(f"{name}: left open")
        self.receipts[name] = list(receipts)

    def threads(self) -> list[threading.Thread]:
        start = threading.Barrier(THREADS)

        def work(number: int) -> None:
            start.wait(60)
            for turn in range(PER_THREAD):
                way = WAYS[(number + turn) % len(WAYS)]
                try:
                    self.search(f"thread.{number}.{turn}.{way}", way)
                except BaseException as exc:
                    self.wrong.append(f"{number}: {exc!r}")

        return [threading.Thread(target=work, args=(number,), daemon=True) for number in range(THREADS)]

    async def tasks(self) -> None:
        ways = [WAYS[number % len(WAYS)] for number in range(TASKS)]
        await asyncio.gather(*(self.asearch(f"task.{n}.{way}", way) for n, way in enumerate(ways)))


def run(threads: list[threading.Thread], meanwhile: Callable[[], Any] = lambda: None) -> None:
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join(90)
    assert not any(thread.is_alive() for thread in threads), "a deadlock"


ROWS = """
SELECT s.surface, s.session_id, s.actor_kind, s.actor_id, s.framework, s.status, s.depth, s.search_id,
       s.parent_id, s.root_id, s.flags,
       array(SELECT chunk_id FROM hits h WHERE h.search_id = s.search_id ORDER BY rank)
FROM searches s
"""


def check(fleet: Fleet, database: Database) -> None:
    """Each receipt is one depth-0 row with its member below it, and there is no other row."""
    assert fleet.wrong == []
    assert fleet.ledger.flush(60)
    assert fleet.ledger.guard.faults == {}
    outer: dict[str, UUID] = {}
    members: Counter[str] = Counter()
    rows = database.rows(ROWS)
    for row in sorted(rows, key=lambda row: row[6]):
        surface, session, kind, name, framework, status, depth, search_id, parent, root, flags, chunks = row
        assert (surface, session, kind) == (f"at-{name}", f"of-{name}", "human")
        assert framework == {"own": "application"}.get(way := name.rpartition(".")[2], way)
        assert (status, flags, chunks) == ("ok", [], [f"{name}-1", f"{name}-2"])
        if depth == 0:
            assert (parent, root) == (None, search_id)
            assert outer.setdefault(name, search_id) == search_id, "one search, two rows"
        else:
            assert (depth, parent, root) == (1, outer[name], outer[name])
            members[name] += 1
    assert outer == {name: receipts[0].search_id for name, receipts in fleet.receipts.items()}
    assert members == Counter(list(outer))
    assert len(rows) == 2 * len(outer)


def test_64_threads_beside_busy_ones(ledger: Ledger, database: Database, busy: None):
    fleet = Fleet(ledger)
    run(fleet.threads())
    assert len(fleet.receipts) == THREADS * PER_THREAD
    check(fleet, database)


def test_1000_tasks_beside_busy_threads(ledger: Ledger, database: Database, busy: None):
    fleet = Fleet(ledger)
    asyncio.run(fleet.tasks())
    assert len(fleet.receipts) == TASKS
    check(fleet, database)


def test_64_threads_and_1000_tasks_at_once(ledger: Ledger, database: Database):
    fleet = Fleet(ledger)
    run(fleet.threads(), lambda: asyncio.run(fleet.tasks()))
    assert len(fleet.receipts) == THREADS * PER_THREAD + TASKS
    check(fleet, database)
