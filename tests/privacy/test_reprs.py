"""P9: what holds a query, a text or a password shows its type alone, wherever a log or a traceback prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from adapters.langchain.world import Listed, documents
from adapters.llama_index.doubles import ListRetriever, scored
from llama_index.core.callbacks import CallbackManager
from rich.pretty import pretty_repr

import ragledger
from ragledger.attempts import Asked
from ragledger.ids import new_id
from ragledger.model import Text, TextsRecord
from ragledger.observation import Opening
from ragledger.settings import Settings
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger.texts import Told
from ragledger_langchain import observe
from ragledger_langchain.listening import _Row
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.hooks import hooks
from ragledger_llama_index.store import _Item

CANARY = "canary"


@pytest.fixture
def ledger() -> Iterator[MemoryLedger]:
    with memory_ledger() as found:
        yield found


def assert_unshown(value: Any) -> None:
    for shown in (repr(value), str(value), pretty_repr(value), pretty_repr({"value": [value]})):
        assert CANARY not in shown
        assert type(value).__name__ in shown


@pytest.mark.parametrize(
    "value",
    [
        Asked(None, CANARY),
        Text(1, CANARY),
        TextsRecord(new_id(), (Text(1, CANARY),)),
        Told(CANARY, (CANARY,)),
        Settings(dsn=f"postgresql://a:{CANARY}@h/d", key=CANARY.encode()),
        Opening(framework="own", said={"x": CANARY}),
        _Row(CANARY, CANARY, {"text": CANARY}, 0.5),
        _Item(CANARY, 0.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_p9_a_value_that_holds_text_does_not_show_it(value: Any):
    assert_unshown(value)


def test_p9_an_observation_does_not_show_what_was_asked(ledger: MemoryLedger):
    with ledger.search() as search:
        search.tell(query=CANARY, chunks=[CANARY])
        search.declare(index_version=CANARY)
        assert_unshown(search)


def test_p9_the_open_searches_of_the_adapters_do_not_show_it(ledger: MemoryLedger):
    found: list[Any] = []

    class Chain(Listed):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
            opening = ragledger.current().opening
            found.extend([opening, opening.search])
            return documents("a")

    class Index(ListRetriever):
        def _retrieve(self, query_bundle: Any) -> Any:
            found.extend([ragledger.current().opening, *hooks().searches.open.values()])
            return scored(("a", 0.5))

    observe(Chain(found=documents("a")), ledger).invoke(CANARY)
    handler = LedgerCallbackHandler(ledger)
    Index(scored(("a", 0.5)), callback_manager=CallbackManager([handler])).retrieve(CANARY)

    assert [type(each).__name__ for each in found] == ["_Opening", "Search", "_Opening", "Search"]
    for each in found:
        assert_unshown(each)


def test_the_pretty_printer_shows_what_is_not_hidden():
    receipt = ragledger.Receipt(search_id=None, status="refused", reason=CANARY)
    assert CANARY in pretty_repr(receipt)  # a struct is printed field by field
    assert "project" in pretty_repr(Settings(dsn="x"))
