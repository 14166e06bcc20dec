"""An application that makes its retriever for each request waits for nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from adapters.langchain.world import Calling, Listed, documents, vector_store
from held import held_elsewhere

import ragledger_langchain
from ragledger.forks import unforked
from ragledger.testing import MemoryLedger
from ragledger.testing import memory_ledger as open_memory_ledger
from ragledger_langchain import observe, observe_store
from ragledger_langchain.wrap import _wrapping

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def memory_ledger() -> Iterator[MemoryLedger]:
    with open_memory_ledger() as ledger:
        yield ledger


def test_p3_who_observes_a_retriever_waits_for_no_background_work(memory_ledger: MemoryLedger) -> None:
    observe(Listed(found=documents("a")), memory_ledger)  # what is imported once, is now
    with held_elsewhere(unforked):

        class Fresh(Listed):
            def invoke(self, *args: Any, **kwargs: Any) -> Any:
                return super().invoke(*args, **kwargs)

        retriever = observe(Fresh(found=documents("a")), memory_ledger)
        store = observe_store(vector_store(), memory_ledger)
    retriever.invoke("q")
    assert memory_ledger.row.retriever == "Fresh"
    store.similarity_search("q")
    assert [row.retriever for row in memory_ledger.searches] == ["Fresh", "Relevant"]


def test_p3_where_the_class_is_wrapped_no_lock_is_taken(memory_ledger: MemoryLedger) -> None:
    observe(Listed(found=documents("a")), memory_ledger)
    with held_elsewhere(_wrapping):
        retriever = observe(Listed(found=documents("b")), memory_ledger)
        observe_store(vector_store(), memory_ledger)
    retriever.invoke("q")
    assert memory_ledger.row.retriever == "Listed"


def test_a_method_that_was_replaced_since_is_wrapped_again(
    memory_ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe(Calling(body=lambda _: documents("a")), memory_ledger)
    monkeypatch.setattr(Calling, "invoke", lambda self, query, **_: self.body(query))
    observe(Calling(body=lambda _: documents("b")), memory_ledger).invoke("q")
    assert [hit.chunk_id for hit in memory_ledger.row.hit_rows] == ["b"]


@pytest.mark.parametrize("name", ["LangChainInstrumentor", "feedback_tool", "search_tool"])
def test_p3_what_is_imported_late_is_imported_once(name: str) -> None:
    found = getattr(ragledger_langchain, name)
    with held_elsewhere(unforked):
        assert getattr(ragledger_langchain, name) is found
