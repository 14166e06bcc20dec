"""A reranker of an engine has a span of its own, below that of the search whose nodes it gets."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, scored
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher

from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.hooks import hooks


@pytest.fixture
def traced(make_ledger: Any, spans: Any) -> Any:
    return make_ledger(tracer_provider=spans.provider)


class SomeReranker(BaseNodePostprocessor):
    model: str = "some/model"
    top_n: int = 1
    fails: bool = False

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> list[NodeWithScore]:
        if self.fails:
            raise RuntimeError("SECRET")
        return nodes[-self.top_n :]


# As of a package of LlamaIndex's: of a class of the application no word is read.
SomeReranker.__module__ = "llama_index.postprocessor.some_rerank"


def engine(ledger: Any, *postprocessors: BaseNodePostprocessor) -> RetrieverQueryEngine:
    manager = CallbackManager([LedgerCallbackHandler(ledger)])
    retriever = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager)
    return RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=list(postprocessors))


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_reranker_is_a_child_of_the_search(traced: Any, spans: Any, asynchronous: bool) -> None:
    asked = engine(traced, SimilarityPostprocessor(similarity_cutoff=0.1), SomeReranker())
    if asynchronous:
        await asked.aquery("q")
    else:
        asked.query("q")
    search, step = spans.finished
    assert step.parent.span_id == search.context.span_id
    assert step.context.trace_id == search.context.trace_id
    said = dict(step.attributes)
    assert said.pop("ragledger.search.id") == search.attributes["ragledger.search.id"]
    assert said == {
        "openinference.span.kind": "RERANKER",
        "reranker.model_name": "some/model",
        "reranker.top_k": 1,
        "ragledger.rerank.candidate.count": 2,
    }


def test_a_reranker_that_fails_ends_its_span_and_says_no_message(traced: Any, spans: Any) -> None:
    with pytest.raises(RuntimeError):
        engine(traced, SomeReranker(fails=True)).query("q")
    _, step = spans.finished
    assert step.attributes["error.type"] == "RuntimeError"
    assert (step.status.status_code.name, step.status.description, step.events) == ("ERROR", None, ())
    assert "SECRET" not in step.to_json()


def test_without_anybody_who_traces_there_is_nothing(ledger: Any, rows: Any) -> None:
    assert engine(ledger, SomeReranker()).query("q").source_nodes[0].node.node_id == "b"
    assert rows("depth, status", ledger) == [(0, "ok")]


def test_a_reranker_is_below_the_search_whose_nodes_it_gets(traced: Any, spans: Any) -> None:
    manager = CallbackManager([LedgerCallbackHandler(traced)])
    first = ListRetriever(scored(("a", 0.9)), callback_manager=manager)
    second = ListRetriever(scored(("b", 0.9)), callback_manager=manager)

    @get_dispatcher().span
    def step() -> None:
        found = first.retrieve("q")
        second.retrieve("q")
        SomeReranker().postprocess_nodes(found)

    step()
    searched, _, reranked = spans.finished
    assert reranked.parent.span_id == searched.context.span_id


def test_a_reranker_that_runs_when_the_handlers_go_has_its_span_ended(traced: Any, spans: Any) -> None:
    class Clearing(SomeReranker):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            hooks().searches.prompts.clear()
            return nodes

    engine(traced, Clearing()).query("q")
    assert [span.name for span in spans.finished][1:] == [spans.finished[-1].name]
    assert spans.finished[-1].attributes["openinference.span.kind"] == "RERANKER"
