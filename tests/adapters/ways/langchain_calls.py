"""What applications do with a LangChain retriever, and the rows that it has to give."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from adapters.langchain.world import Calling, Listed, documents
from adapters.ways.calls import Calls
from adapters.ways.graphs import Question, Scripted, calling, graph_of
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.runnables.config import run_in_executor
from langchain_core.tools import create_retriever_tool, tool

import ragledger

__all__ = ["CALLS", "GRAPHS", "NESTED"]

CALLS, GRAPHS, NESTED = Calls(), Calls(), Calls()
Q = "q"


# --- the retriever itself ----------------------------------------------------------------------------------


@CALLS()
def invoke(r: Any) -> Any:
    return r.invoke(Q)


@CALLS()
async def ainvoke(r: Any) -> Any:
    return await r.ainvoke(Q)


@CALLS(2)
def batch(r: Any) -> Any:
    return r.batch([Q, "q2"])


@CALLS(3)
async def abatch(r: Any) -> Any:
    return await r.abatch([Q, Q, "q2"])


@CALLS(2)
def batch_as_completed(r: Any) -> Any:
    return list(r.batch_as_completed([Q, "q2"]))


@CALLS(2)
async def abatch_as_completed(r: Any) -> Any:
    return [found async for found in r.abatch_as_completed([Q, "q2"])]


@CALLS()
def stream(r: Any) -> Any:
    return list(r.stream(Q))


@CALLS()
async def astream(r: Any) -> Any:
    return [chunk async for chunk in r.astream(Q)]


@CALLS()
async def astream_broken_off(r: Any) -> None:
    chunks = r.astream(Q)
    await chunks.__anext__()
    await chunks.aclose()


@CALLS()
async def astream_events(r: Any) -> Any:
    return [event async for event in r.astream_events(Q, version="v2")]


@CALLS()
async def astream_events_of_a_chain(r: Any) -> Any:
    return [patch async for patch in (r | RunnableLambda(len)).astream_events(Q, version="v2")]


# --- wrapped in other runnables ------------------------------------------------------------------------------


@CALLS()
def with_retry(r: Any) -> Any:
    return r.with_retry().invoke(Q)


@CALLS()
async def with_fallbacks(r: Any) -> Any:
    return await r.with_fallbacks([Listed(found=[])]).ainvoke(Q)


@CALLS(2)
def configurable_fields(r: Any) -> None:
    configurable = r.configurable_fields(tags=ConfigurableField(id="tags"))
    configurable.invoke(Q)
    configurable.invoke(Q, config={"configurable": {"tags": ["other"]}})


@CALLS()
def configurable_alternatives(r: Any) -> Any:
    return r.configurable_alternatives(ConfigurableField(id="which"), other=Listed(found=[])).invoke(Q)


@CALLS(2)
async def bind(r: Any) -> None:
    r.bind(run_name="n").invoke(Q)
    await r.with_config(tags=["t"]).ainvoke(Q)


@CALLS(2)
async def sequence(r: Any) -> None:
    chain = r | RunnableLambda(len)
    chain.invoke(Q)
    await chain.ainvoke(Q)


@CALLS(4)
async def parallel(r: Any) -> None:
    chain = RunnableParallel(a=r, b=r)
    chain.invoke(Q)
    await chain.ainvoke(Q)


@CALLS()
def assign(r: Any) -> Any:
    return RunnablePassthrough.assign(found=RunnableLambda(lambda given: given["q"]) | r).invoke({"q": Q})


@CALLS()
def branch(r: Any) -> Any:
    return RunnableBranch((lambda _: True, r), RunnableLambda(len)).invoke(Q)


@CALLS(2)
async def in_a_lambda(r: Any) -> None:
    async def search(query: str) -> Any:
        return await r.ainvoke(query)

    RunnableLambda(lambda query: r.invoke(query)).invoke(Q)
    await RunnableLambda(search).ainvoke(Q)


@CALLS(2)
def mapped(r: Any) -> Any:
    return r.map().invoke([Q, "q2"])


@CALLS()
def copied(r: Any) -> Any:
    return r.model_copy().invoke(Q)


# --- tools -----------------------------------------------------------------------------------------------------


@CALLS(2)
async def retriever_tool(r: Any) -> None:
    search = create_retriever_tool(r, "search", "Searches.")
    search.invoke({"query": Q})
    await search.ainvoke({"query": Q})


@CALLS()
def retriever_tool_with_artifact(r: Any) -> Any:
    search = create_retriever_tool(r, "search", "Searches.", response_format="content_and_artifact")
    return search.invoke(calling(Q).tool_calls[0])


@CALLS(2)
async def tool_of_ones_own(r: Any) -> None:
    @tool
    def look(query: str) -> str:
        """Looks."""
        return str(r.invoke(query))

    look.invoke({"query": Q})
    await look.ainvoke({"query": Q})  # a sync tool on a loop: in an executor


# --- threads and bridges -------------------------------------------------------------------------------------


@CALLS()
async def to_thread(r: Any) -> Any:
    return await asyncio.to_thread(r.invoke, Q)


@CALLS()
async def in_their_executor(r: Any) -> Any:
    return await run_in_executor(None, r.invoke, Q)


@CALLS()
def own_loop_in_a_thread(r: Any) -> None:
    """Sync code that needs an answer of async code."""
    work = ragledger.propagate(lambda: asyncio.run(r.ainvoke(Q)))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


@CALLS()
def thread_with_propagate(r: Any) -> None:
    thread = threading.Thread(target=ragledger.propagate(r.invoke), args=(Q,))
    thread.start()
    thread.join()


@CALLS()
async def sync_on_the_loop(r: Any) -> Any:
    return r.invoke(Q)


# --- nested ----------------------------------------------------------------------------------------------------


@NESTED(1, 1)
def in_another_retriever(r: Any) -> Any:
    return marked(Calling(body=r.invoke)).invoke(Q)


@NESTED(1, 2)
def recursion(r: Any) -> Any:
    def body(query: str) -> list[Document]:
        return outer.invoke(query + "!") if len(query) < 3 else documents(query)

    outer = marked(Calling(body=body))
    return outer.invoke(Q)


@NESTED(1, 1)
async def async_retriever_that_asks_a_sync_one_in_a_thread(r: Any) -> Any:
    return await marked(Calling(body=r.invoke)).ainvoke(Q)


@NESTED(1, 1)
def sync_retriever_that_asks_an_async_one(r: Any) -> Any:
    def body(query: str) -> Any:
        return asyncio.run(r.ainvoke(query))

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ragledger.propagate(marked(Calling(body=body)).invoke), Q).result()


@NESTED(2, 4)
async def ensemble(r: Any) -> None:
    from langchain_classic.retrievers import EnsembleRetriever

    both = marked(EnsembleRetriever(retrievers=[r, Listed(found=documents("b"))], weights=[0.5, 0.5]))
    both.invoke(Q)
    await both.ainvoke(Q)


@NESTED(2, 4)
async def merger(r: Any) -> None:
    from langchain_classic.retrievers import MergerRetriever

    both = marked(MergerRetriever(retrievers=[r, Listed(found=documents("c"))]))
    both.invoke(Q)
    await both.ainvoke(Q)


@NESTED(1, 1)
def a_member_with_a_fallback(r: Any) -> Any:
    return marked(Calling(body=r.with_fallbacks([Listed(found=[])]).invoke)).invoke(Q)


def marked(retriever: Any) -> Any:
    """Observed as the test says."""
    return MARK[0](retriever)


MARK: list[Any] = [lambda retriever: retriever]


# --- graphs ------------------------------------------------------------------------------------------------------


@GRAPHS(3)
async def node(r: Any) -> None:
    graph = graph_of(lambda state: {"found": r.invoke(state["q"])})
    graph.invoke({"q": Q})
    await graph.ainvoke({"q": Q})
    list(graph.stream({"q": Q}, stream_mode=["updates", "messages"]))


@GRAPHS(2)
async def anode(r: Any) -> None:
    async def search(state: Any, config: RunnableConfig) -> Any:
        return {"found": await r.ainvoke(state["q"], config)}

    graph = graph_of(search)
    await graph.ainvoke({"q": Q})
    [event async for event in graph.astream_events({"q": Q}, version="v2")]


@GRAPHS(2)
def sent_twice(r: Any) -> None:
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    def search(state: Any) -> Any:
        r.invoke(state["q"])
        return {}

    builder = StateGraph(Question)
    builder.add_node("search", search)
    builder.add_conditional_edges(START, lambda _: [Send("search", {"q": q}) for q in (Q, "q2")], ["search"])
    builder.add_edge("search", END)
    builder.compile().invoke({"q": Q})


@GRAPHS()
def subgraph(r: Any) -> Any:
    return graph_of(graph_of(lambda state: {"found": r.invoke(state["q"])})).invoke({"q": Q})


@GRAPHS()
def functional(r: Any) -> Any:
    from langgraph.func import entrypoint, task

    @task
    def search(query: str) -> Any:
        return r.invoke(query)

    @entrypoint()
    def ask(query: str) -> Any:
        return len(search(query).result())

    return ask.invoke(Q)


@GRAPHS(4)
async def parallel_tools(r: Any) -> None:
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([create_retriever_tool(r, "search", "Searches.")]))
    builder.add_edge(START, "tools")
    builder.add_edge("tools", END)
    graph = builder.compile()
    graph.invoke({"messages": [calling(Q, "q2")]})
    await graph.ainvoke({"messages": [calling(Q, "q2")]})


@GRAPHS()
def retry_policy_that_is_not_needed(r: Any) -> Any:
    from langgraph.types import RetryPolicy

    return graph_of(
        lambda state: {"found": r.invoke(state["q"])}, retry_policy=RetryPolicy(max_attempts=3)
    ).invoke({"q": Q})


@GRAPHS()
def cache_policy(r: Any) -> None:
    from langgraph.cache.memory import InMemoryCache
    from langgraph.types import CachePolicy

    def search(state: Any) -> Any:
        return {"found": [document.id for document in r.invoke(state["q"])]}

    graph = graph_of(search, cache=InMemoryCache(), cache_policy=CachePolicy())
    graph.invoke({"q": Q})
    graph.invoke({"q": Q})


@GRAPHS(4)
async def agent(r: Any) -> None:
    from langchain.agents import create_agent

    tools = [create_retriever_tool(r, "search", "Searches.")]
    for asynchronous in (False, True):
        model = Scripted(messages=iter([calling(Q, "q2"), AIMessage("done")]))
        made = create_agent(model, tools=tools)
        asked = {"messages": [("user", Q)]}
        answer = await made.ainvoke(asked) if asynchronous else made.invoke(asked)
        assert answer["messages"][-1].content == "done"
