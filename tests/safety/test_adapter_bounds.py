"""P4: what the adapters remember of different retrievers, settings and names has an end."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from adapters.langchain.world import Keywords, Listed, documents, vector_store
from adapters.llama_index.doubles import ListRetriever, scored
from llama_index.core.callbacks import CallbackManager

from ragledger import extraction
from ragledger.testing import memory_ledger
from ragledger_langchain import observe, recording
from ragledger_langchain.weights import vector_store as langchain_weights
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.hooks import hooks


def test_langchain_warns_of_100_ledgers_that_are_not_open(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(recording, "_missing", set())  # other tests want a warning too
    for number in range(100_000):
        recording.warn_once(f"nobody-{number}")
    assert len(recording._missing) <= 100
    assert len(caplog.records) <= 100


def test_langchain_settings_that_are_all_different():
    with memory_ledger() as ledger:
        store = vector_store(3)
        for number in range(1, 1500):
            observe(store.as_retriever(search_kwargs={"k": number}), ledger).invoke("q")
            ledger.backend.records.clear()
    assert len(langchain_weights._readings) <= 1024
    assert len(langchain_weights._defaults) <= 1024


def test_langchain_classes_that_are_all_different():
    with memory_ledger() as ledger:
        for number in range(1100):
            made: Any = type(f"Made{number}", (Keywords,), {"__annotations__": {}})
            observe(made(docs=documents("a")), ledger).invoke("q")
    assert len(extraction._plans) <= 1024


def test_llama_index_classes_that_are_all_different():
    with memory_ledger() as ledger:
        manager = CallbackManager([LedgerCallbackHandler(ledger)])
        for number in range(3000):
            made: Any = type(f"Made{number}", (ListRetriever,), {})
            made(scored(("a", 0.5)), callback_manager=manager).retrieve("q")
            del made
        assert len(ledger.searches) == 3000
    assert len(extraction._plans) <= 1024
    assert not hooks().searches.open
    assert not hooks().searches._of


def test_the_marks_of_a_retriever_are_replaced_and_not_heaped_up():
    with memory_ledger() as ledger:
        retriever = Listed(found=documents("a"))
        for number in range(1000):
            observe(retriever, ledger, corpus=f"c{number}", surface=f"s{number}")
        assert retriever.metadata is not None
        assert len(retriever.metadata) < 8
