"""P3: a fault of ours costs what it touched and nothing else. It is counted, and the row is still written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, node, scored, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from ragledger import Ledger, extractor
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor
from ragledger_llama_index.hooks import hooks

pytestmark = pytest.mark.pg


@pytest.fixture
def lenient(make_ledger: Callable[..., Ledger]) -> Ledger:
    return make_ledger(strict=False)


@pytest.fixture
def marked(lenient: Ledger) -> CallbackManager:
    return CallbackManager([LedgerCallbackHandler(lenient)])


def test_d27_an_extractor_that_raises_costs_the_weights(lenient, marked, rows):
    retriever = vector_index(manager=marked).as_retriever(similarity_top_k=2)
    del (
        retriever._alpha
    )  # a newer release without the attribute; the search itself fails on it as it would have
    with pytest.raises(AttributeError):
        retriever.retrieve("q")
    retriever._alpha = None
    retriever.__class__ = type("Drifted", (type(retriever),), {"_hybrid_top_k": property(_raises)})
    with pytest.raises(RuntimeError):
        retriever.retrieve("q")
    assert rows("status, flags, weights->>'source'", lenient) == [
        ("error", ["weights_unreadable"], "unknown"),
        ("error", ["weights_unreadable"], "unknown"),
    ]
    assert lenient.guard.faults == {"llama_index.weights": 2}


def test_d27_a_third_partys_extractor_that_gives_back_nonsense_costs_the_weights(lenient, marked, rows):
    class Mine(ListRetriever):
        pass

    extractor(f"{Mine.__module__}.{Mine.__qualname__}")(lambda *_: None)  # type: ignore[arg-type, return-value]
    Mine(scored(("a", 0.5)), callback_manager=marked).retrieve("q")
    assert rows("status, flags, admitted_count", lenient) == [("ok", ["weights_unreadable"], 1)]
    assert lenient.guard.faults == {"llama_index.weights": 1}


def _raises(self: Any) -> Any:
    raise RuntimeError("SECRET")


def test_d27_a_score_that_raises_costs_its_own_hit(lenient, marked, rows, hits):
    class Odd(NodeWithScore):
        def __getattribute__(self, name: str) -> Any:
            if name == "score":
                raise RuntimeError("SECRET")
            return super().__getattribute__(name)

    class Own(BaseRetriever):
        def retrieve(self, str_or_query_bundle: Any) -> Any:
            return [*scored(("a", 0.9)), odd, *scored(("c", 0.7))]

        def _retrieve(self, query_bundle: QueryBundle) -> Any:
            raise AssertionError

    odd = Odd(node=node("b"))
    assert len(Own(callback_manager=marked).retrieve("q")) == 3
    assert rows("status, admitted_count, flags", lenient) == [("ok", 3, ["incomplete"])]
    assert hits("rank, chunk_id, score, score_source", lenient) == [
        (1, "a", 0.9, "node.score"),
        (2, None, None, "unreadable"),
        (3, "c", 0.7, "node.score"),
    ]
    assert lenient.guard.faults == {"llama_index.extract": 1}


@pytest.mark.parametrize(
    ("result", "admitted", "flags"),
    [
        (None, None, ["incomplete"]),
        ("some text", None, ["incomplete"]),
        ({"a": 1}, None, ["incomplete"]),
        ((), 0, []),
        (tuple(scored(("a", 0.5))), 1, []),
        ([node("bare")], 1, []),
        (["a string"], 1, ["incomplete"]),
        ([None], 1, ["incomplete"]),
    ],
)
def test_odd_results_reach_the_caller_and_are_flagged(lenient, marked, rows, result, admitted, flags):
    class Own(ListRetriever):
        def retrieve(self, str_or_query_bundle: Any) -> Any:
            return self.result

    assert Own(result, callback_manager=marked).retrieve("q") is result
    assert rows("status, admitted_count, flags", lenient) == [("ok", admitted, flags)]


def test_a_generator_is_left_to_the_application(lenient, marked, rows):
    class Own(ListRetriever):
        def retrieve(self, str_or_query_bundle: Any) -> Any:
            return (item for item in self.result)

    generator = Own(scored(("a", 0.5), ("b", 0.4)), callback_manager=marked).retrieve("q")
    assert [item.node.node_id for item in generator] == ["a", "b"]
    assert rows("status, flags", lenient) == [("ok", ["incomplete"])]


def test_a_callback_manager_that_raises_is_counted_and_the_instrumentor_still_records(lenient, rows):
    class Odd(ListRetriever):
        @property
        def callback_manager(self) -> Any:
            if not hooks().searches.open:
                raise RuntimeError("SECRET")
            return CallbackManager([])

        @callback_manager.setter
        def callback_manager(self, value: Any) -> None:
            pass

    LlamaIndexInstrumentor().instrument(ledger=lenient)
    faults = hooks().searches.guard.faults
    before = dict(faults)  # of the process: others may have counted there
    assert len(Odd(scored(("a", 0.5))).retrieve("q")) == 1
    assert faults["llama_index.manager"] == before.get("llama_index.manager", 0) + 1
    faults.clear()
    faults.update(before)
    assert rows("status", lenient) == ["ok"]


def test_d27_a_journal_that_refuses_costs_the_row_and_says_so(lenient, marked, monkeypatch):
    import ragledger

    def broken(record: Any) -> Any:
        raise OSError("SECRET")

    monkeypatch.setattr(lenient.recorder._sink, "put", broken)
    with ragledger.capture() as receipts:
        assert len(ListRetriever(scored(("a", 0.5)), callback_manager=marked).retrieve("q")) == 1
    assert [(receipt.search_id, receipt.status) for receipt in receipts] == [(None, "refused")]
    assert lenient.guard.faults["journal"] == 1


def test_p3_other_handlers_of_the_manager_and_of_the_dispatcher_go_on(lenient, rows):
    from llama_index.core.callbacks import LlamaDebugHandler

    debug = LlamaDebugHandler(print_trace_on_end=False)
    manager = CallbackManager([debug, LedgerCallbackHandler(lenient)])
    ListRetriever(scored(("a", 0.5)), callback_manager=manager).retrieve("q")
    assert len(debug.get_event_pairs()) == 1
    assert rows("status", lenient) == ["ok"]


def test_p3_a_wrong_call_is_the_callers_own_type_error(lenient, marked, rows):
    retriever = ListRetriever([], callback_manager=marked)
    with pytest.raises(TypeError):
        retriever.retrieve()  # type: ignore[call-arg]
    assert rows("1", lenient) == []
