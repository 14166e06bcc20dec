"""P9: fingerprints of questions and chunks, where they are switched on, are the same whichever framework asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Listed, document
from adapters.llama_index.doubles import ListRetriever, node
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore

import ragledger
from ragledger import Candidate, Ledger
from ragledger.testing import memory_ledger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

QUESTION, SAME = "How long do  refunds take?", "how long do refunds take?"


def own(ledger: Ledger, question: str) -> None:
    with ledger.search(query=question) as search:
        search.candidates(Candidate("a", content_key=ledger.content_key("text of a")))


def langchain(ledger: Ledger, question: str) -> None:
    observe(Listed(found=[document("a", "text of a")]), ledger).invoke(question)


def langchain_async(ledger: Ledger, question: str) -> None:
    asyncio.run(observe(Listed(found=[document("a", "text of a")]), ledger).ainvoke(question))


def llama_index(ledger: Ledger, question: str) -> None:
    manager = CallbackManager([LedgerCallbackHandler(ledger)])
    found = [NodeWithScore(node=node("a"), score=0.5)]
    ListRetriever(found, callback_manager=manager).retrieve(question)


@pytest.mark.parametrize("ask", [own, langchain, langchain_async, llama_index])
@pytest.mark.parametrize("switched_on", [True, False])
def test_p9_the_same_question_and_the_same_chunk_have_the_same_key(
    ask: Callable[[Ledger, str], None], switched_on: bool
) -> None:
    key = b"k" * 32
    settings: dict[str, Any] = {"query_keys": switched_on, "content_keys": switched_on, "key": key}
    with memory_ledger(**settings) as ledger:
        ask(ledger, QUESTION)
        ask(ledger, SAME)
        own(ledger, QUESTION)
        assert not ragledger.current()
    rows = ledger.searches
    assert {row.query_key is not None for row in rows} == {switched_on}
    assert len({row.query_key for row in rows}) == 1
    assert {hit.content_key is not None for hit in ledger.hits} == {switched_on}
    assert len({hit.content_key for hit in ledger.hits}) == 1
