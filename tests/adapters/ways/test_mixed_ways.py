"""P10 across frameworks and threads: one inside the other, and threads with and without `propagate`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Calling, Listed, Table, documents
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, scored
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from llama_index.core.async_utils import asyncio_run
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

import ragledger
from ragledger import Candidate, Ledger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor

pytestmark = [pytest.mark.pg, pytest.mark.usefixtures("no_faults")]

Q = "q"
LC, LI = "langchain", "llama_index"


@pytest.fixture(params=["by hand", "instrumented", "both"])
def world(
    request: pytest.FixtureRequest, ledger: Ledger, instrument: Callable[..., Any], manager: Any
) -> tuple[Callable[[Any], Any], Any]:
    """How a LangChain retriever is marked, and the manager of a LlamaIndex one."""
    if request.param != "by hand":
        instrument(ledger=ledger)
        LlamaIndexInstrumentor().instrument(ledger=ledger)
    if request.param == "instrumented":
        return (lambda retriever: retriever), None
    return (lambda retriever: observe(retriever, ledger)), manager


def nodes_of(found: list[Document]) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=each.id or "", text=each.page_content), score=1.0) for each in found
    ]


def documents_of(found: list[NodeWithScore]) -> list[Document]:
    return [Document(id=each.node.node_id, page_content=each.node.get_content()) for each in found]


def family(table: Table) -> list[tuple[str, int]]:
    """Framework and depth of every row; that the rows below belong to the one above them is checked here."""
    rows = table.searches()
    by_id = {row["search_id"]: row for row in rows}
    for row in rows:
        if row["depth"]:
            assert by_id[row["parent_id"]]["depth"] == row["depth"] - 1
            assert by_id[row["root_id"]]["depth"] == 0
        assert (row["status"], row["admitted_count"], row["flags"]) == ("ok", 2, [])
    return [(row["framework"], row["depth"]) for row in rows]


async def test_p10_langchain_inside_llama_index(world: Any, table: Table) -> None:
    mark, manager = world
    inner = mark(Listed(found=documents("a", "b")))
    outer = BodyRetriever(lambda query: nodes_of(inner.invoke(query.query_str)), callback_manager=manager)
    outer.retrieve(Q)
    await outer.aretrieve(Q)
    assert family(table) == [(LI, 0), (LC, 1)] * 2


async def test_p10_llama_index_inside_langchain(world: Any, table: Table) -> None:
    mark, manager = world
    inner = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager)
    outer = mark(Calling(body=lambda query: documents_of(inner.retrieve(query))))
    outer.invoke(Q)
    await outer.ainvoke(Q)
    assert family(table) == [(LC, 0), (LI, 1)] * 2


async def test_p10_one_inside_the_other_inside_the_one(world: Any, table: Table) -> None:
    mark, manager = world
    leaf = mark(Listed(found=documents("a", "b")))
    middle = BodyRetriever(lambda query: nodes_of(leaf.invoke(query.query_str)), callback_manager=manager)
    await mark(Calling(body=lambda query: documents_of(middle.retrieve(query)))).ainvoke(Q)
    assert family(table) == [(LC, 0), (LI, 1), (LC, 2)]


async def test_p10_sync_code_that_waits_for_async_code_both_ways(world: Any, table: Table) -> None:
    mark, manager = world
    chain = mark(Listed(found=documents("a", "b")))
    index = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager)
    outer_index = BodyRetriever(
        lambda query: nodes_of(asyncio_run(chain.ainvoke(query.query_str))), callback_manager=manager
    )
    outer_chain = mark(Calling(body=lambda query: documents_of(asyncio_run(index.aretrieve(query)))))
    await asyncio.to_thread(outer_index.retrieve, Q)
    await asyncio.to_thread(outer_chain.invoke, Q)
    outer_index.retrieve(Q)  # on the loop: their bridge makes a thread of its own
    await outer_chain.ainvoke(Q)
    assert family(table) == [(LI, 0), (LC, 1), (LC, 0), (LI, 1)] * 2


async def test_p10_a_chain_in_a_workflow_and_an_index_in_a_chain(world: Any, table: Table) -> None:
    mark, manager = world
    chain = mark(Listed(found=documents("a", "b"))) | RunnableLambda(len)
    index = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager)

    class Flow(Workflow):
        @step
        async def search(self, event: StartEvent) -> StopEvent:
            return StopEvent(result=await chain.ainvoke(Q))

    assert await Flow().run() == 2
    assert len(await RunnableLambda(index.retrieve).ainvoke(Q)) == 2
    assert family(table) == [(LC, 0), (LI, 0)]


async def test_p10_both_below_a_search_of_the_application(world: Any, ledger: Ledger, table: Table) -> None:
    mark, manager = world
    with ledger.search(corpus="handbook") as search:
        found = mark(Listed(found=documents("a", "b"))).invoke(Q)
        ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager).retrieve(Q)
        search.candidates(*[Candidate(document.id) for document in found])
    assert family(table) == [("application", 0), (LC, 1), (LI, 1)]


@pytest.mark.parametrize("propagated", [False, True])
@pytest.mark.parametrize("inner", [LC, LI])
def test_p10_a_raw_thread_has_a_right_row_and_propagate_keeps_the_lineage(
    world: Any, table: Table, inner: str, propagated: bool
) -> None:
    """Without it: a root of its own, which says nothing of what is around, and everything else is right."""
    mark, manager = world
    search: Any = mark(Listed(found=documents("a", "b"))).invoke
    if inner == LI:
        search = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager).retrieve

    def body(query: str) -> Any:
        thread = threading.Thread(target=ragledger.propagate(search) if propagated else search, args=(Q,))
        thread.start()
        thread.join()
        return documents("a", "b")

    with ragledger.context(surface="study"), ragledger.capture() as receipts:
        mark(Calling(body=body)).invoke(Q)
    assert family(table) == [(LC, 0), (inner, 1 if propagated else 0)]
    outer, row = table.searches()
    assert row["root_id"] == (outer if propagated else row)["search_id"]
    assert row["surface"] == ("study" if propagated else None)
    assert [receipt.search_id for receipt in receipts] == [outer["search_id"]]


def test_p10_a_thousand_raw_threads_worth_of_searches(world: Any, table: Table) -> None:
    mark, manager = world
    chain = mark(Listed(found=documents("a", "b")))
    index = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager)

    def work() -> None:
        for _ in range(25):
            chain.invoke(Q)
            index.retrieve(Q)

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = family(table)
    assert sorted(set(found)) == [(LC, 0), (LI, 0)]
    assert [found.count(each) for each in ((LC, 0), (LI, 0))] == [500, 500]


def test_p10_two_ledgers_have_a_row_each_across_frameworks(
    make_ledger: Callable[..., Ledger], ledger: Ledger, table: Table
) -> None:
    from llama_index.core.callbacks import CallbackManager

    other = make_ledger(name="other", project="theirs")
    index = ListRetriever(
        scored(("a", 0.9), ("b", 0.5)), callback_manager=CallbackManager([LedgerCallbackHandler(other)])
    )
    observe(Calling(body=lambda query: documents_of(index.retrieve(query))), ledger).invoke(Q)
    table.of(other)
    assert [(row["project"], row["depth"]) for row in table.searches()] == [("test", 0), ("theirs", 0)]
