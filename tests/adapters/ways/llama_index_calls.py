"""What applications do with a LlamaIndex retriever, and the rows that it has to give.

`MANAGER` is the callback manager that a composite gets: the one with our handler, or none.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

from adapters.llama_index.doubles import BodyRetriever, ListRetriever, scored, vector_index
from adapters.ways.calls import Calls
from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.base_selector import BaseSelector, MultiSelection, SingleSelection
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import (
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle
from llama_index.core.tools import FunctionTool, RetrieverTool

import ragledger

__all__ = ["CALLS", "MANAGER", "NESTED"]

CALLS, NESTED = Calls(), Calls()
MANAGER: list[Any] = [None]
Q = "q"


def managed() -> dict[str, Any]:
    return {"callback_manager": MANAGER[0]}


# --- the retriever itself ----------------------------------------------------------------------------------


@CALLS()
def retrieve(r: Any) -> Any:
    return r.retrieve(Q)


@CALLS()
async def aretrieve(r: Any) -> Any:
    return await r.aretrieve(Q)


@CALLS(2)
async def with_a_bundle(r: Any) -> None:
    bundle = QueryBundle(Q)
    r.retrieve(bundle)
    await r.aretrieve(str_or_query_bundle=bundle)


@CALLS()
async def sync_on_the_loop(r: Any) -> Any:
    return r.retrieve(Q)


@CALLS(3)
async def gathered(r: Any) -> Any:
    return await asyncio.gather(r.aretrieve(Q), r.aretrieve(Q), r.aretrieve("q2"))


@CALLS()
async def to_thread(r: Any) -> Any:
    return await asyncio.to_thread(r.retrieve, Q)


@CALLS()
async def their_bridge_in_a_thread(r: Any) -> Any:
    return await asyncio.to_thread(lambda: asyncio_run(r.aretrieve(Q)))


@CALLS()
async def their_bridge_on_the_loop(r: Any) -> Any:
    return asyncio_run(r.aretrieve(Q))


@CALLS()
def thread_with_propagate(r: Any) -> None:
    thread = threading.Thread(target=ragledger.propagate(r.retrieve), args=(Q,))
    thread.start()
    thread.join()


@CALLS(2)
async def retriever_tool(r: Any) -> None:
    tool = RetrieverTool.from_defaults(r)
    tool.call(Q)
    await tool.acall(Q)


@CALLS(2)
async def function_tool_of_a_sync_function(r: Any) -> None:
    tool = FunctionTool.from_defaults(fn=lambda question: str(len(r.retrieve(question))), name="find")
    tool.call(question=Q)
    if await tools_keep_the_context():
        await tool.acall(question=Q)
    else:  # run-llama/llama_index#21555: in this release it would be a row without a surface
        tool.call(question=Q)


async def tools_keep_the_context() -> bool:
    import contextvars

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("probe", default="lost")
    variable.set("kept")
    return str(await FunctionTool.from_defaults(fn=lambda: variable.get(), name="probe").acall()) == "kept"


class First(BaseSelector):
    """Chooses the first, or all of them."""

    every: bool

    def __init__(self, *, every: bool) -> None:
        self.every = every

    def _get_prompts(self) -> Any:
        return {}

    def _update_prompts(self, prompts: Any) -> None: ...

    def _select(self, choices: Sequence[Any], query: Any) -> Any:
        chosen = range(len(choices) if self.every else 1)
        return MultiSelection(selections=[SingleSelection(index=index, reason="") for index in chosen])

    async def _aselect(self, choices: Sequence[Any], query: Any) -> Any:
        return self._select(choices, query)


# --- nested ----------------------------------------------------------------------------------------------------


@NESTED(2, 2)
async def in_another_retriever(r: Any) -> None:
    outer = BodyRetriever(r.retrieve, **managed())
    outer.retrieve(Q)
    await outer.aretrieve(Q)


@NESTED(1, 2)
def recursion(r: Any) -> None:
    def body(query: QueryBundle) -> Any:
        return outer.retrieve(query.query_str + "!") if len(query.query_str) < 3 else scored(("a", 1.0))

    outer = BodyRetriever(body, **managed())
    outer.retrieve(Q)


@NESTED(3, 6)
async def fusion(r: Any) -> None:
    for use_async in (False, True):
        both = QueryFusionRetriever(
            [r, ListRetriever(scored(("c", 0.3)), **managed())],
            num_queries=1,
            use_async=use_async,
            llm=MockLLM(),
            **managed(),
        )
        if use_async:
            both.retrieve(Q)  # on a loop: in a thread of a pool
        await both.aretrieve(Q)


@NESTED(2, 4)
async def router_retriever(r: Any) -> None:
    tools = [RetrieverTool.from_defaults(r, description=name) for name in ("one", "two")]
    router = RouterRetriever(First(every=True), tools, llm=MockLLM())
    if MANAGER[0] is not None:
        router.callback_manager = MANAGER[0]  # its constructor takes none
    router.retrieve(Q)
    await router.aretrieve(Q)


@NESTED(1, 2)
def recursive_retriever(r: Any) -> None:
    linked = [NodeWithScore(node=IndexNode(text="t", id_="link", index_id="leaf"), score=0.9)]
    root = ListRetriever(linked, **managed())
    recursive = RecursiveRetriever("root", retriever_dict={"root": root, "leaf": r}, **managed())
    recursive.retrieve(Q)


@NESTED(2, 2)
async def index_node_that_stands_for_a_retriever(r: Any) -> None:
    linked = [NodeWithScore(node=IndexNode(text="t", id_="link", index_id="leaf", obj=r), score=0.9)]
    outer = ListRetriever(linked, **managed())
    outer.retrieve(Q)
    await outer.aretrieve(Q)


@NESTED(1, 1)
def transform_retriever(r: Any) -> None:
    from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform

    TransformRetriever(r, IdentityQueryTransform(), **managed()).retrieve(Q)


@NESTED(1, 1)
def auto_merging(r: Any) -> None:
    from llama_index.core.retrievers import AutoMergingRetriever

    index = vector_index()
    AutoMergingRetriever(r, index.storage_context, **managed()).retrieve(Q)


@NESTED(2, 2)
async def override_in_a_composite(r: Any) -> None:
    class Overriding(BodyRetriever):
        def retrieve(self, str_or_query_bundle: Any) -> Any:
            return super().retrieve(str_or_query_bundle)

        async def aretrieve(self, str_or_query_bundle: Any) -> Any:
            return await super().aretrieve(str_or_query_bundle)

    outer = Overriding(r.retrieve, **managed())
    outer.retrieve(Q)
    await outer.aretrieve(Q)
