"""P10: one logical search is one depth-0 row, whichever way it went."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, SlowRetriever, scored, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

import ragledger
from ragledger_llama_index import LedgerCallbackHandler

pytestmark = [pytest.mark.pg, pytest.mark.usefixtures("no_faults")]

DEPTHS = "retriever, depth, parent_id IS NULL"


def fusion(manager: CallbackManager | None, *, use_async: bool, mode: str = "simple") -> QueryFusionRetriever:
    members: list[BaseRetriever] = [ListRetriever(scored(("n0", 0.9), ("n1", 0.5)), callback_manager=manager)]
    members.append(ListRetriever(scored(("n1", 12.0), ("n2", 3.0)), callback_manager=manager))
    return QueryFusionRetriever(
        members, mode=mode, num_queries=1, use_async=use_async, callback_manager=manager, similarity_top_k=3
    )


def test_p10_two_handlers_of_one_ledger_in_one_manager(ledger, rows):
    both = CallbackManager([LedgerCallbackHandler(ledger, surface="first"), LedgerCallbackHandler(ledger)])
    ListRetriever(scored(("a", 1.0)), callback_manager=both).retrieve("q")
    assert rows("depth, surface", ledger) == [(0, "first")]


def test_two_ledgers_in_one_manager_get_a_depth_0_row_each(make_ledger, rows):
    a, b = make_ledger(project="a", name="a"), make_ledger(project="b", name="b")
    both = CallbackManager([LedgerCallbackHandler(a, corpus="ca"), LedgerCallbackHandler(b, corpus="cb")])
    ListRetriever(scored(("x", 1.0)), callback_manager=both).retrieve("q")
    assert sorted(rows("project, depth, corpus, admitted_count", a, b)) == [
        ("a", 0, "ca", 1),
        ("b", 0, "cb", 1),
    ]
    assert not ragledger.current()


def test_members_without_a_handler_belong_to_both_ledgers_of_the_search_around_them(make_ledger, rows):
    a, b = make_ledger(project="a", name="a"), make_ledger(project="b", name="b")
    member = ListRetriever(scored(("x", 1.0)))
    outer = BodyRetriever(
        member.retrieve,
        callback_manager=CallbackManager([LedgerCallbackHandler(a), LedgerCallbackHandler(b)]),
    )
    outer.retrieve("q")
    found = sorted(rows(f"project, {DEPTHS}, root_id", a, b), key=lambda row: (row[0], row[2]))
    assert [row[:4] for row in found] == [
        ("a", "BodyRetriever", 0, True),
        ("a", "ListRetriever", 1, False),
        ("b", "BodyRetriever", 0, True),
        ("b", "ListRetriever", 1, False),
    ]
    assert found[0][4] == found[1][4]
    assert found[2][4] == found[3][4] != found[0][4]


def test_depth_is_per_ledger_outer_observed_by_a_inner_by_b(make_ledger, rows):
    a, b = make_ledger(project="a", name="a"), make_ledger(project="b", name="b")
    inner = ListRetriever(scored(("x", 1.0)), callback_manager=CallbackManager([LedgerCallbackHandler(b)]))
    outer = BodyRetriever(inner.retrieve, callback_manager=CallbackManager([LedgerCallbackHandler(a)]))
    outer.retrieve("q")
    assert sorted(rows(f"project, {DEPTHS}", a, b)) == [
        ("a", "BodyRetriever", 0, True),
        ("b", "ListRetriever", 0, True),
    ]


@pytest.fixture
def own_loop() -> Iterator[None]:
    """LlamaIndex's bridge makes an event loop in the main thread and never closes it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("own_loop")
@pytest.mark.parametrize("use_async", [False, True])
def test_a_fusion_is_one_depth_0_row_with_its_members_below_it(ledger, manager, rows, use_async):
    fusion(manager, use_async=use_async).retrieve("q")
    found = rows("retriever, depth, parent_id, root_id, search_id", ledger)
    root = found[0]
    assert root[:3] == ("QueryFusionRetriever", 0, None)
    assert [row[:4] for row in found[1:]] == [("ListRetriever", 1, root[4], root[4])] * 2


async def test_a_fusion_in_a_running_loop_and_its_async_form(ledger, manager, rows):
    await fusion(manager, use_async=True).aretrieve("q")
    fusion(manager, use_async=True).retrieve("q")  # the members run in a pool thread
    found = rows("depth, parent_id, search_id", ledger)
    roots = [row[2] for row in found if row[0] == 0]
    assert len(roots) == 2
    assert sorted(row[1] for row in found if row[0] == 1) == sorted(roots * 2)


def test_d14_a_members_scores_are_those_it_had_before_the_fusion(ledger, manager, database):
    retriever = fusion(manager, use_async=False, mode="relative_score")
    retriever.retrieve("q")
    assert ledger.flush()
    found = database.rows(
        "SELECT depth, chunk_id, score FROM hits JOIN searches USING (search_id) ORDER BY search_id, rank"
    )
    assert [row[1:] for row in found if row[0] == 1] == [("n0", 0.9), ("n1", 0.5), ("n1", 12.0), ("n2", 3.0)]
    assert [row[1:] for row in found if row[0] == 0] == [("n0", 0.5), ("n1", 0.5), ("n2", 0.0)]


class Override(ListRetriever):
    """Overrides both forms and calls `super()`, twice over."""

    def retrieve(self, str_or_query_bundle: Any) -> Any:
        return super().retrieve(str_or_query_bundle)

    async def aretrieve(self, str_or_query_bundle: Any) -> Any:
        return await super().aretrieve(str_or_query_bundle)


class TwiceOverride(Override):
    def retrieve(self, str_or_query_bundle: Any) -> Any:
        try:
            return super().retrieve(str_or_query_bundle)
        finally:
            super().retrieve(str_or_query_bundle)

    async def aretrieve(self, str_or_query_bundle: Any) -> Any:
        return await super().aretrieve(str_or_query_bundle)


@pytest.mark.parametrize("kind", [Override, TwiceOverride])
async def test_an_override_that_calls_super_is_one_row(ledger, manager, rows, kind):
    retriever = kind(scored(("a", 0.9)), callback_manager=manager)
    assert len(retriever.retrieve("q")) == 1
    assert len(await retriever.aretrieve(str_or_query_bundle="q")) == 1
    assert rows(f"{DEPTHS}, admitted_count", ledger) == [(kind.__name__, 0, True, 1)] * 2


async def test_an_aretrieve_that_calls_its_own_retrieve_is_one_row(ledger, manager, rows):
    class Bridge(ListRetriever):
        async def aretrieve(self, str_or_query_bundle: Any) -> Any:
            return await asyncio.to_thread(self.retrieve, str_or_query_bundle)

    await Bridge(scored(("a", 0.9)), callback_manager=manager).aretrieve("q")
    assert rows(DEPTHS, ledger) == [("Bridge", 0, True)]


async def test_a_plain_function_that_gives_back_the_coroutine_of_super_is_one_row(make_ledger, rows):
    ledger = make_ledger(strict=False, name="lenient")

    class Plain(ListRetriever):
        def aretrieve(self, str_or_query_bundle: Any) -> Any:
            return super().aretrieve(str_or_query_bundle)

    retriever = Plain(scored(("a", 0.9)), callback_manager=CallbackManager([LedgerCallbackHandler(ledger)]))
    assert len(await retriever.aretrieve("q")) == 1
    assert rows(f"{DEPTHS}, admitted_count", ledger) == [("Plain", 0, True, 1)]
    assert ledger.guard.faults == {"llama_index.unawaited": 1}


def test_recursion_on_another_query_is_a_child(ledger, manager, rows):
    class Recursive(ListRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> Any:
            if query_bundle.query_str == "wide":
                return self.retrieve("narrow")
            return super()._retrieve(query_bundle)

    Recursive(scored(("a", 0.9)), callback_manager=manager).retrieve("wide")
    assert rows("depth", ledger) == [0, 1]


def test_an_override_that_asks_itself_another_question_has_a_child(ledger, manager, rows):
    class Widening(ListRetriever):
        def retrieve(self, str_or_query_bundle: Any) -> Any:
            if str_or_query_bundle == "narrow":
                return self.retrieve("wide")
            return super().retrieve(str_or_query_bundle)

    Widening(scored(("a", 0.9)), callback_manager=manager).retrieve("narrow")
    assert rows("depth, admitted_count", ledger) == [(0, 1), (1, 1)]


def test_the_same_retriever_twice_in_a_row_is_two_searches(ledger, manager, rows):
    retriever = ListRetriever(scored(("a", 0.9)), callback_manager=manager)
    query = QueryBundle("q")
    retriever.retrieve(query)
    retriever.retrieve(query)
    assert rows("depth", ledger) == [0, 0]


@pytest.mark.usefixtures("own_loop")
def test_sync_bridges_keep_the_lineage(ledger, manager, rows):
    slow = SlowRetriever(0.01, callback_manager=manager)

    def bridged(query: QueryBundle) -> list[NodeWithScore]:
        from llama_index.core.async_utils import asyncio_run

        return asyncio_run(slow.aretrieve(query))  # type: ignore[no-any-return]

    BodyRetriever(bridged, callback_manager=manager).retrieve("q")
    assert rows("depth, status", ledger) == [(0, "ok"), (1, "ok")]


def test_a_raw_thread_gives_a_right_row_and_propagate_keeps_the_lineage(ledger, manager, rows):
    inner = ListRetriever(scored(("a", 0.9)), callback_manager=manager)

    def in_threads(query: QueryBundle) -> list[NodeWithScore]:
        for work in (inner.retrieve, ragledger.propagate(inner.retrieve)):
            thread = threading.Thread(target=work, args=(query,))
            thread.start()
            thread.join()
        return []

    with ragledger.context(surface="study"):
        BodyRetriever(in_threads, callback_manager=manager).retrieve("q")
    assert rows("retriever, depth, status, admitted_count, surface", ledger) == [
        ("BodyRetriever", 0, "ok", 0, "study"),
        ("ListRetriever", 0, "ok", 1, None),
        ("ListRetriever", 1, "ok", 1, "study"),
    ]


def test_a_raw_thread_alone_gives_its_row(ledger, manager, rows):
    thread = threading.Thread(
        target=vector_index(manager=manager).as_retriever(similarity_top_k=1).retrieve, args=("q",)
    )
    thread.start()
    thread.join()
    assert rows("depth, status, admitted_count", ledger) == [(0, "ok", 1)]


async def test_an_async_generator_closed_early_leaves_a_closed_row(ledger, manager, rows, caplog):
    retriever = ListRetriever(scored(("a", 0.9)), callback_manager=manager)

    async def answer() -> Any:
        yield len(await retriever.aretrieve("q"))
        yield "more"

    stream = answer()
    assert await stream.__anext__() == 1
    assert rows("status", ledger) == ["ok"]  # closed before the first yield
    await asyncio.create_task(stream.aclose())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
