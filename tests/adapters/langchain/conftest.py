from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from adapters.langchain.world import Table

from ragledger import Ledger
from ragledger_langchain import LangChainInstrumentor


@pytest.fixture
def table(ledger: Ledger, database: Any) -> Table:
    return Table(database).of(ledger)


@pytest.fixture
def instrument() -> Iterator[Callable[..., LangChainInstrumentor]]:
    """Instruments, and undoes it whatever happens."""
    used: list[LangChainInstrumentor] = []

    def start(**given: Any) -> LangChainInstrumentor:
        instrumentor = LangChainInstrumentor()
        used.append(instrumentor)
        instrumentor.instrument(**given)
        return instrumentor

    yield start
    for instrumentor in used:
        if instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.uninstrument()


@pytest.fixture
def instrumented(instrument: Callable[..., Any], ledger: Ledger, table: Table) -> Table:
    """Every retriever goes to `ledger`; gives the table."""
    instrument(ledger=ledger)
    return table
