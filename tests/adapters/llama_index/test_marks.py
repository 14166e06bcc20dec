"""Which ledger a search belongs to, what was said of it, and how the mark survives copies."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, scored, vector_index
from llama_index.core import Settings
from llama_index.core.callbacks import CallbackManager, CBEventType
from llama_index.core.retrievers import BaseRetriever
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import instrument_tags

import ragledger
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor

pytestmark = pytest.mark.pg

NODES = scored(("a", 0.9))


def test_settings_callback_manager_reaches_what_is_built_after_it(ledger, rows):
    Settings.callback_manager = CallbackManager(
        [LedgerCallbackHandler(ledger, corpus="handbook", surface="tab")]
    )
    ListRetriever(NODES).retrieve("q")
    vector_index().as_retriever().retrieve("q")
    assert rows("corpus, surface", ledger) == [("handbook", "tab")] * 2


def test_an_index_built_before_settings_changed_keeps_its_old_manager(ledger, rows):
    index = vector_index()
    Settings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
    index.as_retriever().retrieve("q")
    assert rows("1", ledger) == []
    LlamaIndexInstrumentor().instrument(ledger=ledger)  # what reaches it: the instrumentor
    index.as_retriever().retrieve("q")
    assert rows("depth", ledger) == [0]


def test_adding_a_handler_to_the_manager_that_is_there_reaches_an_index_built_before(ledger, rows):
    index = vector_index()
    Settings.callback_manager.add_handler(LedgerCallbackHandler(ledger))
    index.as_retriever().retrieve("q")
    assert rows("depth", ledger) == [0]


def test_a_retriever_that_never_called_super_init_uses_settings(ledger, rows):
    class Bare(BaseRetriever):
        def __init__(self) -> None:
            self.object_map: dict[str, Any] = {}
            self._verbose = False

        def _retrieve(self, query_bundle: Any) -> Any:
            return list(NODES)

    Settings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
    Bare().retrieve("q")
    assert rows("retriever", ledger) == ["Bare"]


def test_the_own_manager_wins_over_the_instrumentor(make_ledger, rows):
    own, everything = make_ledger(project="own", name="own"), make_ledger(project="all", name="all")
    LlamaIndexInstrumentor().instrument(ledger=everything)
    ListRetriever(NODES, callback_manager=CallbackManager([LedgerCallbackHandler(own)])).retrieve("q")
    ListRetriever(NODES).retrieve("q")
    assert rows("project", own, everything) == ["own", "all"]


def test_a_search_inside_ledger_search_belongs_to_its_ledger(ledger, rows):
    LedgerCallbackHandler(ledger)  # the hooks are there, no manager holds it
    with ledger.search(corpus="c") as search:
        ListRetriever(NODES).retrieve("q")
        search.candidates(ragledger.Candidate("a"))
    assert rows("framework, depth", ledger) == [("application", 0), ("llama_index", 1)]


def test_nothing_is_recorded_where_nobody_observes(ledger, rows):
    LedgerCallbackHandler(ledger)
    ListRetriever(NODES).retrieve("q")
    assert rows("1", ledger) == []


def test_tags_win_over_the_handler_and_the_handler_over_the_context(ledger, rows):
    handler = LedgerCallbackHandler(ledger, corpus="of handler", surface="of handler")
    retriever = ListRetriever(NODES, callback_manager=CallbackManager([handler]))
    tags = {
        "ragledger.surface": "of tags",
        "ragledger.session_id": "s9",
        "ragledger.actor": "human:ana",
        "ragledger.index_version": "v2",
        "ragledger.embedding_model": "m1",
        "other": object(),
    }
    with (
        ragledger.context(surface="of context", corpus="of context", session_id="s1", actor="agent"),
        instrument_tags(tags),
    ):
        retriever.retrieve("q")
    with ragledger.context(surface="of context", session_id="s1"):
        retriever.retrieve("q")
    columns = "corpus, surface, session_id, actor_kind, actor_id, index_version, embedding_model"
    assert rows(columns, ledger) == [
        ("of handler", "of tags", "s9", "human", "ana", "v2", "m1"),
        ("of handler", "of handler", "s1", "system", None, None, None),
    ]


def test_tags_reach_the_members_of_a_composite(ledger, manager, rows):
    class Outer(ListRetriever):
        def _retrieve(self, query_bundle: Any) -> Any:
            return self.result.retrieve(query_bundle)

    with instrument_tags({"ragledger.surface": "chat"}):
        Outer(ListRetriever(NODES), callback_manager=manager).retrieve("q")
    assert rows("depth, surface", ledger) == [(0, "chat"), (1, "chat")]


def test_p3_the_handler_takes_every_legacy_event_in_silence(ledger, manager):
    handler = manager.handlers[0]
    for event in CBEventType:
        assert handler.on_event_start(event, None, event_id="e", parent_id="p", extra=1) == "e"
        handler.on_event_end(event, {"odd": object()}, event_id="e", extra=1)
    handler.start_trace()
    handler.end_trace("t", {})
    assert not handler.mark().ledger.guard.faults


def test_a_thing_that_is_no_ledger_is_refused_when_the_handler_is_made():
    with pytest.raises(TypeError, match=r"ragledger\.open"):
        LedgerCallbackHandler("postgresql://localhost/x")  # type: ignore[arg-type]


def test_deepcopy_and_copy_share_the_handler(ledger, manager, rows):
    retriever = ListRetriever(NODES, callback_manager=manager)
    for again in (copy.deepcopy(retriever), copy.copy(retriever)):
        assert again.callback_manager.handlers[0] is manager.handlers[0]
        again.retrieve("q")
    assert rows("depth", ledger) == [0, 0]


def test_a_pickled_retriever_finds_its_ledger_by_name(ledger, rows):
    handler = LedgerCallbackHandler(ledger, corpus="c", surface="s")
    retriever = ListRetriever(NODES, callback_manager=CallbackManager([handler]))
    again = pickle.loads(pickle.dumps(retriever))
    assert again.callback_manager.handlers[0] is not handler
    again.retrieve("q")
    assert rows("corpus, surface, depth", ledger) == [("c", "s", 0)]


def test_an_unpickled_handler_is_harmless_without_its_ledger_and_finds_one_opened_later(make_ledger, rows):
    gone = make_ledger(name="gone")
    kept = pickle.dumps(
        ListRetriever(NODES, callback_manager=CallbackManager([LedgerCallbackHandler(gone, corpus="c")]))
    )
    gone.close()
    again = pickle.loads(kept)
    assert len(again.retrieve("q")) == 1
    assert pickle.loads(pickle.dumps(again)).retrieve("q")
    later = make_ledger(name="gone", project="later")
    again.retrieve("q")
    assert rows("project, corpus", later) == [("later", "c")]


def test_a_pickled_retriever_works_in_a_process_where_no_ledger_is_open(ledger, tmp_path):
    retriever = ListRetriever(NODES, callback_manager=CallbackManager([LedgerCallbackHandler(ledger)]))
    kept = tmp_path / "retriever.pickle"
    kept.write_bytes(pickle.dumps(retriever))
    program = f"""
        import pickle, pathlib
        retriever = pickle.loads(pathlib.Path({str(kept)!r}).read_bytes())
        print([item.node.node_id for item in retriever.retrieve("q")])
    """
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "['a']", "")


def test_the_handler_keeps_its_ledger_alive(make_ledger, database):
    manager = CallbackManager([LedgerCallbackHandler(ragledger.open(database.dsn, name="only here"))])
    gc.collect()
    ListRetriever(NODES, callback_manager=manager).retrieve("q")
    ledger = manager.handlers[0].mark().ledger
    assert ledger.flush()
    assert database.value("SELECT count(*) FROM searches") == 1
    ledger.close()


def test_recording_comes_back_after_somebody_replaced_the_dispatchers_list(ledger, manager, rows):
    root = get_dispatcher()
    retriever = ListRetriever(NODES, callback_manager=manager)
    root.span_handlers = []
    retriever.retrieve("unseen")
    retriever.retrieve("seen")
    assert rows("depth", ledger) == [0]
