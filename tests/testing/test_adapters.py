"""The kit under every way in: LangChain and LlamaIndex, marked and instrumented, sync and async."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragledger.testing import MemoryLedger

NAMES = ["a", "b"]


def seen(ledger: MemoryLedger) -> list[tuple[str, list[str | None]]]:
    return [(row.framework, [hit.chunk_id for hit in row.hits]) for row in ledger.searches]


async def test_langchain_observed(memory_ledger: MemoryLedger):
    pytest.importorskip("langchain_core")
    from adapters.langchain.world import Listed, documents

    from ragledger_langchain import observe

    retriever = observe(Listed(found=documents(*NAMES)), memory_ledger, corpus="c")
    retriever.invoke("q")
    await retriever.ainvoke("q")
    assert seen(memory_ledger) == [("langchain", NAMES)] * 2
    assert [row.corpus for row in memory_ledger.searches] == ["c", "c"]


def test_langchain_instrumented(make_memory_ledger: Callable[..., MemoryLedger]):
    pytest.importorskip("langchain_core")
    from adapters.langchain.world import Listed, documents

    from ragledger_langchain import LangChainInstrumentor

    ledger = make_memory_ledger(name="mine")
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(ledger=ledger)
    try:
        Listed(found=documents(*NAMES)).invoke("q")
    finally:
        instrumentor.uninstrument()
    assert seen(ledger) == [("langchain", NAMES)]


async def test_llama_index_by_handler(memory_ledger: MemoryLedger):
    pytest.importorskip("llama_index.core")
    from adapters.llama_index.doubles import ListRetriever, scored
    from llama_index.core.callbacks import CallbackManager

    from ragledger_llama_index import LedgerCallbackHandler

    manager = CallbackManager([LedgerCallbackHandler(memory_ledger)])
    retriever = ListRetriever(scored(("a", 0.9), ("b", 0.8)), callback_manager=manager)
    retriever.retrieve("q")
    await retriever.aretrieve("q")
    assert seen(memory_ledger) == [("llama_index", NAMES)] * 2
    assert [hit.score for hit in memory_ledger.hits] == [0.9, 0.8] * 2


def test_llama_index_in_two_ledgers_at_once(make_memory_ledger: Callable[..., MemoryLedger]):
    pytest.importorskip("llama_index.core")
    from adapters.llama_index.doubles import ListRetriever, scored
    from llama_index.core.callbacks import CallbackManager

    from ragledger_llama_index import LedgerCallbackHandler

    one, two = make_memory_ledger(name="one"), make_memory_ledger(name="two")
    manager = CallbackManager([LedgerCallbackHandler(one), LedgerCallbackHandler(two)])
    ListRetriever(scored(("a", 0.9), ("b", 0.8)), callback_manager=manager).retrieve("q")
    assert seen(one) == seen(two) == [("llama_index", NAMES)]
    assert one.row.search_id != two.row.search_id
