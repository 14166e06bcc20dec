from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core import MockEmbedding, Settings
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import MockLLM
from llama_index_instrumentation import get_dispatcher

from ragledger import Ledger
from ragledger.testing import MemoryLedger
from ragledger.testing import memory_ledger as open_memory_ledger
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor
from ragledger_llama_index.hooks import hooks


@pytest.fixture(autouse=True)
def _process_state() -> Iterator[None]:
    """LlamaIndex's globals as they were; and, after every test, nothing left open and no fault of ours unseen."""
    root = get_dispatcher()
    handlers = list(root.span_handlers)
    saved = (Settings._llm, Settings._embed_model, Settings._callback_manager)
    Settings._llm, Settings._embed_model, Settings._callback_manager = (
        MockLLM(),
        MockEmbedding(embed_dim=4),
        None,
    )
    searches = hooks().searches
    faults = dict(searches.guard.faults)
    yield
    Settings._llm, Settings._embed_model, Settings._callback_manager = saved
    if LlamaIndexInstrumentor().is_instrumented_by_opentelemetry:
        LlamaIndexInstrumentor().uninstrument()
    root.span_handlers = handlers
    assert not searches.open
    assert not searches._of
    assert not searches._failing
    searches.legs.release()
    assert not searches.legs._of
    assert not searches.prompts.open
    assert not searches.prompts.processing
    assert searches.guard.faults == faults


@pytest.fixture
def manager(ledger: Ledger) -> CallbackManager:
    """A callback manager whose only handler is ours."""
    return CallbackManager([LedgerCallbackHandler(ledger)])


@pytest.fixture
def rows(database: Any) -> Callable[..., list[Any]]:
    """Flushes the ledgers given, then reads columns of `searches` in order of time."""

    def read(columns: str, *ledgers: Ledger, where: str = "true") -> list[Any]:
        for ledger in ledgers:
            assert ledger.flush()
        found = database.rows(f"SELECT {columns} FROM searches WHERE {where} ORDER BY search_id")
        return [row[0] if len(row) == 1 else row for row in found]

    return read


@pytest.fixture
def hits(database: Any) -> Callable[..., list[Any]]:
    """Columns of `hits` of the only search, by rank."""

    def read(columns: str, ledger: Ledger) -> list[Any]:
        assert ledger.flush()
        found = database.rows(f"SELECT {columns} FROM hits ORDER BY search_id, rank")
        return [row[0] if len(row) == 1 else row for row in found]

    return read


@pytest.fixture
def no_faults(ledger: Ledger) -> Iterator[None]:
    yield
    assert ledger.guard.faults == {}


@pytest.fixture
def memory_ledger() -> Iterator[MemoryLedger]:
    """A ledger in memory, in which nothing went wrong."""
    with open_memory_ledger() as found:
        yield found
        assert found.guard.faults == {}


@pytest.fixture
def memory_manager(memory_ledger: MemoryLedger) -> CallbackManager:
    """A callback manager whose only handler is the one of the ledger in memory."""
    return CallbackManager([LedgerCallbackHandler(memory_ledger)])
