"""Global instrumentation: with a ledger, without one (zero-code), twice, reloaded, and undone."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, scored, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index_instrumentation import get_dispatcher
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from ragledger.registry import ledger_named
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor
from ragledger_llama_index.hooks import hooks

pytestmark = pytest.mark.pg
NODES = scored(("a", 0.9))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The dispatcher as in a process where no handler of ours was ever made."""
    found = hooks()
    monkeypatch.setattr(found, "_wanted", set())
    found.settle()
    return get_dispatcher()


def test_instrument_and_uninstrument_leave_the_dispatcher_as_it_was(bare, ledger, rows):
    before = list(bare.span_handlers)
    instrumentor = LlamaIndexInstrumentor()
    assert isinstance(instrumentor, BaseInstrumentor)
    instrumentor.instrument(ledger=ledger)
    ListRetriever(NODES).retrieve("q")
    instrumentor.uninstrument()
    assert bare.span_handlers == before
    assert all(mine is theirs for mine, theirs in zip(bare.span_handlers, before, strict=True))
    ListRetriever(NODES).retrieve("q")
    assert rows("depth", ledger) == [0]


def test_a_search_that_is_open_while_uninstrumenting_still_gets_its_row(bare, ledger, rows):
    LlamaIndexInstrumentor().instrument(ledger=ledger)

    def uninstrumenting(_: Any) -> Any:
        LlamaIndexInstrumentor().uninstrument()
        return list(NODES)

    BodyRetriever(uninstrumenting).retrieve("q")
    assert rows("status, admitted_count", ledger) == [("ok", 1)]
    assert not [handler for handler in bare.span_handlers if type(handler).__name__ in {"_Opener", "_Closer"}]


def test_uninstrument_leaves_the_handlers_of_a_callback_manager_at_work(ledger, manager, rows):
    LlamaIndexInstrumentor().instrument(ledger=ledger)
    LlamaIndexInstrumentor().uninstrument()
    ListRetriever(NODES, callback_manager=manager).retrieve("q")
    ListRetriever(NODES).retrieve("q")
    assert rows("depth", ledger) == [0]


def test_d08_instrument_twice_and_from_a_reloaded_module_is_one_row(ledger, rows, caplog):
    import ragledger_llama_index.handler
    import ragledger_llama_index.hooks
    import ragledger_llama_index.instrumentor

    LlamaIndexInstrumentor().instrument(ledger=ledger)
    LlamaIndexInstrumentor().instrument(ledger=ledger)
    modules = [ragledger_llama_index.hooks, ragledger_llama_index.handler, ragledger_llama_index.instrumentor]
    kept = [dict(vars(module)) for module in modules]
    try:
        for module in modules:
            importlib.reload(module)
        again = ragledger_llama_index.instrumentor.LlamaIndexInstrumentor()
        again.instrument(ledger=ledger)
        manager = CallbackManager([ragledger_llama_index.handler.LedgerCallbackHandler(ledger)])
        ListRetriever(NODES).retrieve("q")
        ListRetriever(NODES, callback_manager=manager).retrieve("q")
        assert rows("depth", ledger) == [0, 0]
        roles = [
            getattr(type(handler), "_ragledger_role", None) for handler in get_dispatcher().span_handlers
        ]
        assert roles.count("opener") == roles.count("closer") == 1
        again.uninstrument()
    finally:
        for module, names in zip(modules, kept, strict=True):
            vars(module).update(names)


def test_without_a_ledger_one_is_opened_from_the_environment_by_the_first_search(
    monkeypatch, database, spans
):
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    monkeypatch.setenv("RAGLEDGER_PROJECT", "zero-code")
    LlamaIndexInstrumentor().instrument(tracer_provider=spans.provider)
    assert ledger_named("default") is None
    vector_index().as_retriever(similarity_top_k=1).retrieve("q")
    opened = ledger_named("default")
    assert opened is not None
    assert opened.flush()
    assert database.rows("SELECT project, depth FROM searches") == [("zero-code", 0)]
    assert [span.name for span in spans.finished] == ["retrieval"]
    del opened
    LlamaIndexInstrumentor().uninstrument()
    assert ledger_named("default") is None


def test_an_open_default_ledger_is_shared_instead_of_opening_another(ledger, rows, monkeypatch):
    monkeypatch.setenv("RAGLEDGER_DSN", "postgresql://nobody@127.0.0.1:1/none")
    LlamaIndexInstrumentor().instrument()
    ListRetriever(NODES).retrieve("q")
    assert rows("depth", ledger) == [0]
    LlamaIndexInstrumentor().uninstrument()
    assert ledger_named("default") is ledger  # not ours to close


def test_a_ledger_given_later_takes_the_place_of_the_environments(make_ledger, monkeypatch, database, rows):
    monkeypatch.setenv("RAGLEDGER_DSN", database.dsn)
    monkeypatch.setenv("RAGLEDGER_PROJECT", "zero-code")
    LlamaIndexInstrumentor().instrument()
    ListRetriever(NODES).retrieve("q")
    by_hand = make_ledger(name="by hand", project="by hand")
    LlamaIndexInstrumentor().instrument(ledger=by_hand)
    ListRetriever(NODES).retrieve("q")
    assert rows("project, depth", by_hand) == [("zero-code", 0), ("by hand", 0)]


@pytest.mark.parametrize("setting", [None, ("RAGLEDGER_UNHEARD_OF", "secret"), ("RAGLEDGER_SHIP", "secret")])
def test_p3_d26_nothing_usable_in_the_environment_is_one_warning_and_no_more(monkeypatch, caplog, setting):
    if setting is not None:
        monkeypatch.setenv("RAGLEDGER_DSN", "postgresql://localhost/x")
        monkeypatch.setenv(*setting)
    caplog.set_level(logging.WARNING)
    LlamaIndexInstrumentor().instrument()
    for _ in range(3):
        assert len(ListRetriever(NODES).retrieve("q")) == 1
    warned = [record for record in caplog.records if record.name.startswith("ragledger")]
    assert len(warned) == 1
    assert "not observed" in warned[0].getMessage()
    assert hooks().searches.guard.faults.pop("adapter_disabled") == 1


def test_the_extra_is_named_when_the_framework_is_missing(tmp_path):
    blocker = "import sys; sys.modules['llama_index.core'] = None; import ragledger_llama_index"
    done = subprocess.run(
        [sys.executable, "-c", blocker], capture_output=True, text=True, check=False, timeout=60
    )
    assert "pip install 'ragledger[llama-index]'" in done.stderr


def test_p3_the_handler_survives_a_dispatcher_that_cannot_be_changed(make_ledger, monkeypatch, caplog):
    lenient = make_ledger(strict=False)
    monkeypatch.setattr(type(hooks()), "install", _broken)
    assert LedgerCallbackHandler(lenient).mark().ledger is lenient
    assert lenient.guard.faults == {"adapter_disabled": 1}


def _broken(self: Any, wanted_by: str) -> None:
    raise RuntimeError("SECRET")
