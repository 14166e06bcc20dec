"""What reached the prompt is appended by itself, for the right search and the right ledger."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, node, scored, vector_index
from adapters.llama_index.zoo import router, scripted
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import LLMRerank, LongContextReorder, SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    RetryQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.utils import globals_helper
from llama_index_instrumentation.dispatcher import instrument_tags

from ragledger.testing import memory_ledger as open_memory_ledger
from ragledger_llama_index import LedgerCallbackHandler

SCORES = (("a", 0.9), ("b", None), ("c", 0.4))


def cutoff(value: float = 0.5) -> SimilarityPostprocessor:
    return SimilarityPostprocessor(similarity_cutoff=value)


def told(ledger: Any) -> list[tuple[str, tuple[int, ...], Any]]:
    return [(delivery.by, delivery.hit_ranks, delivery.scores) for delivery in ledger.deliveries]


@pytest.fixture
def retriever(memory_manager: CallbackManager) -> ListRetriever:
    return ListRetriever(scored(*SCORES), callback_manager=memory_manager)


def query(made: Any) -> None:
    made.query("q")


def aquery(made: Any) -> None:
    asyncio.run(made.aquery("q"))


def chat(made: Any) -> None:
    made.chat("q")


def achat(made: Any) -> None:
    asyncio.run(made.achat("q"))


def stream_chat(made: Any) -> None:
    assert list(made.stream_chat("q").response_gen)


def astream_chat(made: Any) -> None:
    async def run() -> None:
        response = await made.astream_chat("q")
        assert [token async for token in response.async_response_gen()]

    asyncio.run(run())


def _chatting(kind: Any) -> Callable[..., Any]:
    # The default memory is a database of its own, which is closed by chance.
    return lambda retriever, **more: kind.from_defaults(
        retriever, memory=ChatMemoryBuffer.from_defaults(token_limit=2000), **more
    )


ENGINES = {
    "retriever": (RetrieverQueryEngine.from_args, (query, aquery)),
    "citation": (CitationQueryEngine, (query, aquery)),
    "context": (_chatting(ContextChatEngine), (chat, achat, stream_chat, astream_chat)),
    "condense_plus_context": (
        _chatting(CondensePlusContextChatEngine),
        (chat, achat, stream_chat, astream_chat),
    ),
}
CALLS = [(name, call) for name, (_, calls) in ENGINES.items() for call in calls]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[f"{name}-{call.__name__}" for name, call in CALLS])
def test_d09_the_row_has_all_that_was_returned_and_the_delivery_what_passed(
    memory_ledger, retriever, name, call
):
    call(ENGINES[name][0](retriever, node_postprocessors=[cutoff()]))
    row = memory_ledger.row
    assert (row.candidate_count, row.admitted_count) == (3, 3)
    assert [hit.score for hit in memory_ledger.hits] == [0.9, None, 0.4]
    assert told(memory_ledger) == [("postprocessor", (1,), (0.9,))]
    assert memory_ledger.deliveries[0].search_id == row.search_id


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[f"{name}-{call.__name__}" for name, call in CALLS])
def test_without_postprocessors_what_was_admitted_was_delivered(memory_ledger, retriever, name, call):
    call(ENGINES[name][0](retriever))
    assert memory_ledger.row.admitted_count == 3
    assert told(memory_ledger) == []


def test_of_several_postprocessors_the_last_one_wins(memory_ledger, retriever):
    retriever.result = scored(("a", 0.9), ("b", 0.8), ("c", 0.4), ("d", 0.7), ("e", 0.6))
    RetrieverQueryEngine.from_args(retriever, node_postprocessors=[cutoff(), LongContextReorder()]).query("q")
    [(by, ranks, _)] = told(memory_ledger)
    assert by == "reranker"
    assert sorted(ranks) == [1, 2, 4, 5]
    assert ranks != (1, 2, 4, 5)


def test_a_reranker_that_reads_tells_its_scores(memory_ledger, retriever):
    llm = scripted("Doc: 3, Relevance: 9\nDoc: 1, Relevance: 2")
    RetrieverQueryEngine.from_args(retriever, node_postprocessors=[LLMRerank(llm=llm, top_n=2)]).query("q")
    assert told(memory_ledger) == [("reranker", (3, 1), (9.0, 2.0))]


class Own(BaseNodePostprocessor):
    """The application's: by a function."""

    function: Callable[[list[NodeWithScore]], list[NodeWithScore]]

    def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        return self.function(nodes)


class Awaited(Own):
    """Its own asynchronous way, which LlamaIndex gives no span."""

    async def _apostprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        return self.function(nodes)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda nodes: nodes[:2], ("postprocessor", (1, 2), (0.9, None))),
        (lambda nodes: nodes[::-1], ("reranker", (3, 2, 1), (0.4, None, 0.9))),
        (lambda nodes: [NodeWithScore(node=nodes[0].node, score=7.0)], ("reranker", (1,), (7.0,))),
        (lambda nodes: [], ("postprocessor", (), ())),
        (lambda nodes: [nodes[1], nodes[1]], ("postprocessor", (2,), (None,))),
    ],
    ids=["cuts", "reorders", "rescores", "drops all", "repeats"],
)
@pytest.mark.parametrize(("kind", "call"), [(Own, query), (Own, aquery), (Awaited, aquery)])
def test_of_an_unknown_postprocessor_what_it_did_says_what_it_is(
    memory_ledger, retriever, function, expected, kind, call
):
    call(RetrieverQueryEngine.from_args(retriever, node_postprocessors=[kind(function=function)]))
    assert told(memory_ledger) == [expected]


def _anew(nodes: list[NodeWithScore]) -> list[NodeWithScore]:
    copies = [node(item.node.node_id) for item in nodes]
    for copy in copies:
        copy.id_ = f"new-{copy.id_}"
    return [NodeWithScore(node=copy, score=item.score) for copy, item in zip(copies, nodes, strict=True)]


def test_a_node_made_anew_is_known_by_its_content(memory_ledger, retriever):
    anew = Own(function=lambda nodes: _anew(nodes)[1:])
    RetrieverQueryEngine.from_args(retriever, node_postprocessors=[anew]).query("q")
    assert told(memory_ledger) == [("postprocessor", (2, 3), (None, 0.4))]


def test_a_node_that_matches_nothing_is_counted_and_not_invented(retriever):
    with open_memory_ledger() as ledger:
        retriever.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
        neighbour = NodeWithScore(node=node("neighbour"), score=1.0)
        adding = Own(function=lambda nodes: [nodes[0], neighbour])
        RetrieverQueryEngine.from_args(retriever, node_postprocessors=[adding]).query("q")
        assert told(ledger) == [("postprocessor", (1,), (0.9,))]
        assert ledger.guard.faults == {"llama_index.unmatched_node": 1}
        replacing = Own(function=lambda nodes: [neighbour])
        RetrieverQueryEngine.from_args(retriever, node_postprocessors=[replacing]).query("q")
        assert len(ledger.deliveries) == 1  # nothing is known of the second


def test_ranks_are_those_of_the_hits_where_a_chunk_came_twice(memory_ledger, memory_manager):
    body = BodyRetriever(
        lambda _: scored(("a", 0.9), ("b", 0.8), ("c", 0.7)), callback_manager=memory_manager
    )
    memory_ledger.chunk_id_key = "chunk"
    pairs = [("a", "x"), ("b", "x"), ("c", "y")]
    found = scored(*((name, 0.5) for name, _ in pairs))
    for item, (_, chunk) in zip(found, pairs, strict=True):
        item.node.metadata["chunk"] = chunk
    body.body = lambda _: found
    RetrieverQueryEngine.from_args(body, node_postprocessors=[Own(function=lambda nodes: nodes[1:])]).query(
        "q"
    )
    assert [(hit.rank, hit.chunk_id) for hit in memory_ledger.hits] == [(1, "x"), (3, "y")]
    assert told(memory_ledger) == [("postprocessor", (1, 3), (0.5, 0.5))]


def test_a_synthesizer_that_ignores_its_nodes_delivers_nothing(memory_ledger, retriever):
    RetrieverQueryEngine.from_args(
        retriever, node_postprocessors=[cutoff()], response_mode=ResponseMode.GENERATION
    ).query("q")
    assert told(memory_ledger) == []


def test_a_postprocessor_that_fails_delivers_nothing_and_is_raised(memory_ledger, retriever):
    def fail(_: Any) -> Any:
        raise LookupError

    with pytest.raises(LookupError):
        RetrieverQueryEngine.from_args(retriever, node_postprocessors=[Own(function=fail)]).query("q")
    assert memory_ledger.row.status == "ok"
    assert told(memory_ledger) == []


async def test_fifty_queries_at_once_have_each_their_own_delivery(memory_ledger, memory_manager):
    def body(bundle: QueryBundle) -> Any:
        number = int(bundle.query_str)
        return scored(*((f"{number}-{place}", 1.0 if place == number % 5 else 0.1) for place in range(5)))

    engine = RetrieverQueryEngine.from_args(
        BodyRetriever(body, callback_manager=memory_manager), node_postprocessors=[cutoff()]
    )
    await asyncio.gather(*(engine.aquery(str(number)) for number in range(50)))
    rows = {row.search_id: row for row in memory_ledger.searches}
    assert len(memory_ledger.deliveries) == len(rows) == 50
    for delivery in memory_ledger.deliveries:
        [rank] = delivery.hit_ranks
        chunk_id = rows[delivery.search_id].hit_rows[rank - 1].chunk_id
        number, place = map(int, chunk_id.split("-"))
        assert place == number % 5


def test_the_delivery_is_in_every_ledger_that_has_the_row(memory_ledger, retriever):
    with open_memory_ledger(name="second") as second, open_memory_ledger(name="third") as third:
        retriever.callback_manager.add_handler(LedgerCallbackHandler(second))
        RetrieverQueryEngine.from_args(retriever, node_postprocessors=[cutoff()]).query("q")
        for ledger in (memory_ledger, second):
            assert ledger.deliveries[0].search_id == ledger.row.search_id
        assert third.deliveries == []


def test_no_row_no_delivery(retriever):
    with open_memory_ledger() as ledger:
        ledger.backend.refusal = "cap"
        retriever.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
        RetrieverQueryEngine.from_args(retriever, node_postprocessors=[cutoff()]).query("q")
        assert ledger.deliveries == []
        assert ledger.guard.faults == {"refused:cap": 1}


def test_a_composite_delivers_by_the_ranks_of_its_own_hits(memory_ledger, memory_manager):
    members = [ListRetriever(scored(("a", 0.9), ("b", 0.2))), ListRetriever(scored(("c", 0.8)))]
    made = router(*members, chosen=(0, 1))
    made.callback_manager = memory_manager
    RetrieverQueryEngine.from_args(made, node_postprocessors=[cutoff()]).query("q")
    [parent] = [row for row in memory_ledger.searches if row.depth == 0]
    assert [(delivery.search_id, delivery.hit_ranks) for delivery in memory_ledger.deliveries] == [
        (parent.search_id, (1, 3))
    ]


def test_an_engine_in_a_transform_engine(memory_ledger, retriever):
    inner = RetrieverQueryEngine.from_args(retriever, node_postprocessors=[cutoff()])
    TransformQueryEngine(inner, IdentityQueryTransform()).query("q")
    assert told(memory_ledger) == [("postprocessor", (1,), (0.9,))]


def test_an_engine_that_is_asked_again_delivers_each_time(memory_ledger, retriever):
    class Never(BaseEvaluator):
        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None: ...

        async def aevaluate(self, *args: Any, **kwargs: Any) -> EvaluationResult:
            return EvaluationResult(passing=False, feedback="no", response="r")

    inner = RetrieverQueryEngine.from_args(retriever, node_postprocessors=[cutoff()])
    RetryQueryEngine(inner, Never(), max_retries=1).query("q")
    assert [delivery.search_id for delivery in memory_ledger.deliveries] == [
        row.search_id for row in memory_ledger.searches
    ]
    assert len(memory_ledger.searches) == 2


def test_each_question_of_a_sub_question_engine_has_its_own(memory_ledger, retriever):
    class Two(BaseQuestionGenerator):
        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None: ...

        def generate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return [SubQuestion(sub_question=text, tool_name="t") for text in ("one", "two")]

        async def agenerate(self, tools: Any, query: Any) -> list[SubQuestion]:
            return self.generate(tools, query)

    inner = RetrieverQueryEngine.from_args(retriever, node_postprocessors=[cutoff()])
    tool = QueryEngineTool.from_defaults(inner, name="t", description="d")
    SubQuestionQueryEngine.from_defaults([tool], question_gen=Two(), use_async=False, verbose=False).query(
        "q"
    )
    assert {delivery.search_id for delivery in memory_ledger.deliveries} == {
        row.search_id for row in memory_ledger.searches
    }
    assert len(memory_ledger.deliveries) == 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_without_a_synthesizer_goes_on_with_the_last_postprocessor(
    memory_ledger, retriever, asynchronous
):
    tool = RetrieverTool.from_defaults(retriever, node_postprocessors=[cutoff()], description="d")
    if asynchronous:
        asyncio.run(tool.acall("q"))
    else:
        tool.call("q")
    assert told(memory_ledger) == [("postprocessor", (1,), (0.9,))]


def test_a_search_alone_delivers_nothing_and_holds_nothing(memory_ledger, retriever):
    retriever.retrieve("q")
    cutoff().postprocess_nodes(retriever.retrieve("q"))
    assert told(memory_ledger) == []


def test_the_settings_of_the_postprocessors_are_frozen_with_the_weights(memory_ledger, memory_manager):
    index = vector_index(manager=memory_manager)
    llm = scripted("Doc: 1, Relevance: 2")
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(), node_postprocessors=[cutoff(0.1), LLMRerank(llm=llm, top_n=1)]
    )
    with instrument_tags({"ragledger.surface": "chat"}):
        engine.query("text of a")
    index.as_retriever().retrieve("text of a")
    first, second = memory_ledger.searches
    weights = json.loads(first.weights)
    assert weights["effective"]["postprocessors"] == weights["configured"]["postprocessors"]
    assert weights["effective"]["postprocessors"] == [
        {"postprocessor": "SimilarityPostprocessor", "similarity_cutoff": 0.1},
        {"postprocessor": "LLMRerank", "choice_batch_size": 10, "top_n": 1},
    ]
    assert weights["unknown"] == []
    assert "postprocessors" not in json.loads(second.weights)["effective"]
    assert first.epoch != second.epoch
    assert first.surface == "chat"


def test_a_postprocessor_of_the_application_is_known_in_part(memory_ledger, retriever):
    RetrieverQueryEngine.from_args(retriever, node_postprocessors=[Own(function=lambda nodes: nodes)]).query(
        "SECRET"
    )
    weights = json.loads(memory_ledger.row.weights)
    assert weights["unknown"] == ["postprocessors", "retriever"]
    assert weights["source"] == "unknown"
    assert weights["effective"]["postprocessors"] == [{"postprocessor": "Own"}]


@pytest.fixture(autouse=True)
def _stopwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(globals_helper, "_stopwords", ["of"])
