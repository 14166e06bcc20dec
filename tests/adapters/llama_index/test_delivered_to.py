"""Of several searches under one span, each gets the delivery of its own nodes and of no others'."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, node, scored
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher

from ragledger.testing import memory_ledger as open_memory_ledger
from ragledger_llama_index import LedgerCallbackHandler
from ragledger_llama_index.hooks import hooks

CUT = SimilarityPostprocessor(similarity_cutoff=0.5)
span = get_dispatcher().span


@pytest.fixture
def two(memory_manager: CallbackManager) -> tuple[ListRetriever, ListRetriever]:
    return (
        ListRetriever(scored(("a", 0.9), ("b", 0.8)), callback_manager=memory_manager),
        ListRetriever(scored(("b", 0.3), ("z", 0.2)), callback_manager=memory_manager),
    )


def told(ledger: Any) -> list[tuple[int, str, tuple[int, ...]]]:
    places = {row.search_id: place for place, row in enumerate(ledger.searches, 1)}
    return [(places[item.search_id], item.by, item.hit_ranks) for item in ledger.deliveries]


def test_each_search_that_is_postprocessed_by_itself_has_its_own(memory_ledger, two):
    @span
    def step() -> None:
        for retriever in two:
            CUT.postprocess_nodes(retriever.retrieve("q"))

    step()
    assert told(memory_ledger) == [(1, "postprocessor", (1, 2)), (2, "postprocessor", ())]


def test_a_search_whose_nodes_were_not_handed_in_has_none(memory_ledger, two):
    @span
    def step() -> None:
        CUT.postprocess_nodes(two[0].retrieve("q"))
        two[1].retrieve("q")

    step()
    assert told(memory_ledger) == [(1, "postprocessor", (1, 2))]


def test_searches_whose_nodes_are_processed_together(memory_ledger, two):
    @span
    def step() -> None:
        CUT.postprocess_nodes([*two[0].retrieve("q")[:1], *two[1].retrieve("q")[1:]])

    step()
    assert told(memory_ledger) == [(1, "postprocessor", (1,))]


def test_a_synthesizer_gets_the_nodes_of_one_and_the_other_stays(memory_ledger, two):
    @span
    def step() -> None:
        first = CUT.postprocess_nodes(two[0].retrieve("q"))
        second = CUT.postprocess_nodes(two[1].retrieve("q"))
        get_response_synthesizer(llm=MockLLM()).synthesize("q", first[:1])
        assert second == []

    step()
    assert told(memory_ledger) == [(1, "postprocessor", (1,)), (2, "postprocessor", ())]


class Anew(BaseNodePostprocessor):
    """Gives other objects with other ids and contents."""

    def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        return [NodeWithScore(node=item.node.model_copy(), score=1.0) for item in nodes]


def test_what_a_postprocessor_made_is_followed_to_the_next(memory_ledger, two):
    @span
    def step() -> None:
        two[1].retrieve("q")
        made = Anew().postprocess_nodes(two[0].retrieve("q"))
        get_response_synthesizer(llm=MockLLM()).synthesize("q", CUT.postprocess_nodes(made[1:]))

    step()
    assert told(memory_ledger) == [(2, "reranker", (2,))]


def test_a_score_that_is_not_a_number_is_not_changed_by_being_kept(memory_ledger, memory_manager):
    class Same(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            return [NodeWithScore(node=item.node, score=math.nan) for item in nodes]

    found = [NodeWithScore(node=node("a"), score=math.nan)]
    body = BodyRetriever(lambda _: found, callback_manager=memory_manager)
    RetrieverQueryEngine.from_args(body, node_postprocessors=[Same()]).query("q")
    assert told(memory_ledger) == [(1, "postprocessor", (1,))]


def test_searches_of_tasks_that_outlive_their_span_are_not_kept_for_ever(memory_ledger, two):
    async def later() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await two[0].aretrieve("q")

    @span
    async def handler(tasks: list[Any]) -> None:
        tasks.append(asyncio.create_task(later()))

    async def run() -> None:
        for _ in range(2000):
            tasks: list[Any] = []
            await handler(tasks)
            await asyncio.gather(*tasks)

    asyncio.run(run())
    assert len(memory_ledger.searches) == 2000
    prompts = hooks().searches.prompts
    assert len(prompts.open) <= 1024
    prompts.clear()


def test_a_search_that_is_forgotten_is_counted(two):
    with open_memory_ledger() as ledger:
        two[0].callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])

        @span
        def step() -> None:
            for _ in range(34):
                two[0].retrieve("q")

        step()
        assert ledger.guard.faults == {"llama_index.forgotten_search": 2}


def test_a_delivery_is_made_where_an_override_takes_its_nodes_in_another_way(memory_ledger, two):
    class Starred(BaseNodePostprocessor):
        def _postprocess_nodes(self, *args: Any, **kwargs: Any) -> Any:
            return args[0][1:]

    RetrieverQueryEngine.from_args(two[0], node_postprocessors=[Starred()]).query("q")
    assert told(memory_ledger) == [(1, "postprocessor", (2,))]
