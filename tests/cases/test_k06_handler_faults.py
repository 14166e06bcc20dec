"""K6: calls of a framework with everything missing."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from adapters.langchain.world import Listed, documents
from adapters.llama_index.doubles import ListRetriever, scored
from langchain_core.callbacks import CallbackManager as ChainManager
from llama_index.core.callbacks import CallbackManager, CBEventType

from ragledger.testing import MemoryLedger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.hooks import hooks

CONFIGS: list[Any] = [
    None,
    {},
    {"metadata": None, "tags": None, "callbacks": None, "configurable": None, "run_name": None},
    {"callbacks": ChainManager(handlers=[]), "metadata": {}},
    {"callbacks": []},
]


@pytest.mark.parametrize("config", CONFIGS)
async def test_d25_a_langchain_call_with_nothing_in_it(memory_ledger: MemoryLedger, config: Any) -> None:
    retriever = observe(Listed(found=documents("a"), metadata=None, tags=None), memory_ledger)
    retriever.tags = None
    assert len(retriever.invoke("q", config)) == len(await retriever.ainvoke("q", config=config)) == 1
    assert [(row.retriever, row.status) for row in memory_ledger.searches] == [("Listed", "ok")] * 2


def test_d25_a_failing_call_with_nothing_in_it_is_remembered_by_nobody(memory_ledger: MemoryLedger) -> None:
    """Also where attempts are looked for: no run, no metadata, no query that is a text."""
    queries: list[Any] = [None, 7, {"q": "x"}, "q", ""]

    class Odd(Listed):
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            raise LookupError

    retriever = observe(Odd(), memory_ledger)
    for query in queries:
        for config in CONFIGS:
            with pytest.raises(LookupError):
                retriever.invoke(query, config)
    assert {row.attempt_of for row in memory_ledger.searches} == {None}
    assert len(memory_ledger.searches) == len(queries) * len(CONFIGS)


def test_d25_callbacks_of_llama_index_with_nothing_in_them(memory_ledger: MemoryLedger) -> None:
    handler = LedgerCallbackHandler(memory_ledger)
    for kind in CBEventType:
        assert handler.on_event_start(kind, None, "") == ""
        handler.on_event_end(kind, None, "")
    handler.start_trace(None)
    handler.end_trace(None, None)
    opener, closer = (
        next(each for each in hooks()._root.span_handlers if getattr(each, "_ragledger_role", "") == role)
        for role in ("opener", "closer")
    )
    for each in (opener, closer):
        each.span_enter("X.retrieve-1", None, None, None, None)
        each.span_exit("X.retrieve-1", None, None, None)
        each.span_drop("X._get_embedding-1", None, None, None)
    ListRetriever(scored(("a", 0.5)), callback_manager=CallbackManager([handler])).retrieve("q")
    assert memory_ledger.row.status == "ok"
    assert not hooks().searches.open
