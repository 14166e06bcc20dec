"""P10: retries and fallbacks are attempts of one group, and measures count the group once, by its last attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Calling, Listed, Table, documents
from adapters.llama_index.doubles import BodyRetriever, ListRetriever, scored
from adapters.ways.graphs import Flaky, FlakyIndex, calling, graph_of
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda, RunnableParallel
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

import ragledger
from ragledger import Candidate, Ledger
from ragledger.measurement import Window, measure
from ragledger_langchain import observe

pytestmark = pytest.mark.pg


def faults(count: int) -> list[Exception]:
    return [ConnectionError("SECRET") for _ in range(count)]


def story(table: Table, where: str = "true") -> list[tuple[Any, ...]]:
    """Of each search: status, the number of the attempt that it repeats, reason of the degradation."""
    rows = table.searches(where)
    number = {row["search_id"]: n for n, row in enumerate(rows)}
    return [
        (row["status"], number[row["attempt_of"]] if row["attempt_of"] else None, row["degraded_reason"])
        for row in rows
    ]


RETRIED = [("error", None, None), ("error", 0, None), ("ok", 0, "retry")]
FELL_BACK = [("error", None, None), ("ok", 0, "fallback")]
APART = [("error", None, None), ("ok", None, None)]


# --- LangChain -----------------------------------------------------------------------------------------------


def retrying(runnable: Any) -> Any:
    return runnable.with_retry(
        stop_after_attempt=5,
        wait_exponential_jitter=False,
        exponential_jitter_params={"max": 0, "initial": 0},
    )


def plain(retriever: Any) -> Any:
    return retrying(retriever)


def bound(retriever: Any) -> Any:
    return retrying(retriever.bind(run_name="r").with_config(tags=["t"]))


def configurable(retriever: Any) -> Any:
    return retrying(retriever.configurable_fields(tags=ConfigurableField(id="tags"))).with_config(
        configurable={"tags": ["made anew"]}
    )


def in_a_branch(retriever: Any) -> Any:
    return RunnableParallel(a=retrying(retriever))


def by_hand(retriever: Any) -> Any:
    def search(query: str) -> Any:
        while True:
            try:
                return retriever.invoke(query)
            except ConnectionError:
                continue

    return RunnableLambda(search)


@pytest.mark.parametrize("way", [plain, bound, configurable, in_a_branch, by_hand])
def test_d06_a_retry_is_an_attempt(way: Callable[[Any], Any], ledger: Ledger, table: Table) -> None:
    way(observe(Flaky(failures=faults(2)), ledger)).invoke("q")
    assert story(table) == RETRIED
    assert [row["depth"] for row in table.searches()] == [0, 0, 0]


@pytest.mark.parametrize("way", [plain, bound, configurable, in_a_branch])
async def test_d06_a_retry_is_an_attempt_async(
    way: Callable[[Any], Any], ledger: Ledger, table: Table
) -> None:
    await way(observe(Flaky(failures=faults(2)), ledger)).ainvoke("q")
    assert story(table) == RETRIED


def test_d06_a_fallback_is_an_attempt_and_the_group_counts_once_by_its_last(
    ledger: Ledger, table: Table, database: Any
) -> None:
    failing = observe(Flaky(failures=faults(9)), ledger)
    chain = failing.with_fallbacks([observe(Listed(found=documents("a")), ledger)])
    chain.invoke("q")
    chain.invoke("q")
    again = ("error", None, None), ("ok", 2, "fallback")
    assert story(table) == [*FELL_BACK, *again]
    assert table.searches()[0]["error_type"] == "ConnectionError"
    with database.connect() as connection:
        found = measure(connection, Window())
    assert (found.searches.searches, found.searches.by_status.ok, found.searches.by_status.error) == (2, 2, 0)
    assert found.degraded.n == 2


async def test_d06_a_fallback_is_an_attempt_async(ledger: Ledger, table: Table) -> None:
    failing = observe(Flaky(failures=faults(1)), ledger)
    await failing.with_fallbacks([observe(Listed(found=documents("a")), ledger)]).ainvoke("q")
    assert story(table) == FELL_BACK


def test_d06_all_attempts_that_fail_are_one_group_that_failed(
    ledger: Ledger, table: Table, database: Any
) -> None:
    chain = plain(observe(Flaky(failures=faults(9)), ledger))
    with pytest.raises(ConnectionError):
        chain.invoke("q")
    assert story(table) == [("error", None, None)] + [("error", 0, None)] * 4
    with database.connect() as connection:
        found = measure(connection, Window())
    assert (found.searches.searches, found.degraded.n) == (1, 0)


def test_a_group_ends_with_its_answer_and_a_later_search_is_its_own(ledger: Ledger, table: Table) -> None:
    flaky = observe(Flaky(failures=faults(1)), ledger)
    RunnableLambda(lambda query: [attempt(flaky, query) for _ in range(3)]).invoke("q")
    assert story(table) == [("error", None, None), ("ok", 0, "retry"), ("ok", None, None)]


def attempt(retriever: Any, query: str) -> Any:
    try:
        return retriever.invoke(query)
    except ConnectionError:
        return None


def test_another_question_and_another_run_are_other_searches(ledger: Ledger, table: Table) -> None:
    flaky = observe(Flaky(failures=faults(1)), ledger)
    RunnableLambda(lambda query: [attempt(flaky, query), attempt(flaky, query + "!")]).invoke("q")
    flaky.failures.extend(faults(1))
    RunnableLambda(lambda query: attempt(flaky, query)).invoke("q")
    RunnableLambda(lambda query: attempt(flaky, query)).invoke("q")
    assert story(table) == [*APART, *APART]
    flaky.failures.extend(faults(1))
    attempt(flaky, "q")  # by itself, without a run around it: nobody can tell
    attempt(flaky, "q")
    assert story(table)[4:] == APART


def test_branches_of_one_parallel_are_not_attempts_of_one_another(ledger: Ledger, table: Table) -> None:
    branches = RunnableParallel(
        a=observe(Flaky(failures=faults(1)), ledger), b=observe(Listed(found=documents("b")), ledger)
    )
    with pytest.raises(ConnectionError):
        branches.invoke("q", config={"max_concurrency": 1})
    assert sorted(story(table)) == sorted(APART)


def test_a_reason_that_the_application_gave_stays(ledger: Ledger, table: Table) -> None:
    def body(query: str) -> Any:
        ragledger.current().degrade("embedding_unavailable", vector_available=False)
        return documents("a")

    failing = observe(Flaky(failures=faults(1)), ledger)
    failing.with_fallbacks([observe(Calling(body=body), ledger)]).invoke("q")
    assert story(table) == [("error", None, None), ("ok", 0, "embedding_unavailable")]


@pytest.mark.parametrize("around", ["langchain", "own code"])
def test_members_of_one_search_are_attempts_below_it(around: str, ledger: Ledger, table: Table) -> None:
    first, second = Flaky(failures=faults(1)), Listed(found=documents("a"))

    def body(query: str) -> Any:
        return attempt(first, query) or attempt(second, query)

    if around == "langchain":
        observe(Calling(body=body), ledger).invoke("q")
    else:
        with ledger.search() as search:
            found = body("q")
            search.candidates(*[Candidate(item.id) for item in found])
    assert story(table, "depth = 1") == FELL_BACK
    assert story(table, "depth = 0") == [("ok", None, None)]


async def test_the_node_of_a_graph_that_runs_again_is_an_attempt(ledger: Ledger, table: Table) -> None:
    """What is the same is the task in the metadata; the run is another one."""
    from langgraph.types import RetryPolicy

    policy = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=5)
    flaky = observe(Flaky(failures=faults(2)), ledger)

    def node(state: Any) -> Any:
        return {"found": flaky.invoke(state["q"])}

    async def anode(state: Any, config: RunnableConfig) -> Any:
        return {"found": await flaky.ainvoke(state["q"], config)}  # handed on, as LangChain asks for on 3.10

    graph_of(node, retry_policy=policy).invoke({"q": "q"})
    assert story(table) == RETRIED
    flaky.failures.extend(faults(2))
    await graph_of(anode, retry_policy=policy).ainvoke({"q": "q"})
    assert [row[0::2] for row in story(table)] == [row[0::2] for row in RETRIED * 2]
    rows = table.searches()
    assert [row["attempt_of"] for row in rows[3:]] == [None, rows[3]["search_id"], rows[3]["search_id"]]


def test_a_chain_with_a_fallback_inside_a_node_is_one_group(ledger: Ledger, table: Table) -> None:
    failing = observe(Flaky(failures=faults(1)), ledger)
    chain = failing.with_fallbacks([observe(Listed(found=documents("a")), ledger)])
    graph_of(lambda state: {"found": chain.invoke(state["q"])}).invoke({"q": "q"})
    assert story(table) == FELL_BACK


def test_parallel_tools_of_one_node_are_not_attempts_of_one_another(ledger: Ledger, table: Table) -> None:
    """They share the task of the graph, not its turn: the tools run one after the other, and the first one fails."""
    from langchain_core.tools import create_retriever_tool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    flaky = observe(Flaky(failures=faults(1)), ledger)
    builder = StateGraph(MessagesState)
    tool = create_retriever_tool(flaky, "search", "Searches.")
    builder.add_node("tools", ToolNode([tool], handle_tool_errors=True))
    builder.add_edge(START, "tools")
    builder.add_edge("tools", END)
    builder.compile().invoke({"messages": [calling("q", "q")]}, config={"max_concurrency": 1})
    assert sorted(story(table)) == sorted(APART)


# --- LlamaIndex ----------------------------------------------------------------------------------------------


def asking(*retrievers: Any) -> Any:
    """Asks one after the other, until one answers."""

    def body(query: Any) -> Any:
        for retriever in retrievers:
            try:
                return retriever.retrieve(query)
            except ConnectionError:
                continue
        return []

    return body


def test_llama_index_members_of_one_search(ledger: Ledger, table: Table, manager: Any) -> None:
    flaky = FlakyIndex(faults(2), scored(("a", 0.9)), callback_manager=manager)
    other = ListRetriever(scored(("b", 0.9)), callback_manager=manager)
    BodyRetriever(asking(flaky, flaky, flaky), callback_manager=manager).retrieve("q")
    assert story(table, "depth = 1") == RETRIED
    flaky.failures.extend(faults(1))
    BodyRetriever(asking(flaky, other), callback_manager=manager).retrieve("q")
    assert story(table, "depth = 1")[3:] == [("error", None, None), ("ok", 3, "fallback")]
    assert story(table, "depth = 0") == [("ok", None, None)] * 2


def test_llama_index_siblings_in_a_query_engine(ledger: Ledger, table: Table, manager: Any) -> None:
    flaky = FlakyIndex(faults(1), scored(("a", 0.9)), callback_manager=manager)
    other = ListRetriever(scored(("b", 0.9)), callback_manager=manager)

    class Engine(CustomQueryEngine):
        def custom_query(self, query_str: str) -> str:
            return str(len(asking(flaky, other)(query_str)))

    assert str(Engine().query("q")) == "1"
    assert story(table) == FELL_BACK
    assert [row["depth"] for row in table.searches()] == [0, 0]


async def test_llama_index_a_step_that_runs_again(ledger: Ledger, table: Table, manager: Any) -> None:
    """A span of its own for each try; the run of the workflow and the name of the step are the same."""
    flaky = FlakyIndex(faults(2), scored(("a", 0.9)), callback_manager=manager)

    class Again:
        def next(
            self, elapsed_time: float, attempts: int, error: Exception, seed: Any = None
        ) -> float | None:
            return 0.0 if attempts < 5 else None

    class Searching(Workflow):
        @step(retry_policy=Again())
        async def search(self, event: StartEvent) -> StopEvent:
            return StopEvent(result=len(await flaky.aretrieve(event.q)))

    assert await Searching().run(q="q") == 1
    assert story(table) == RETRIED
    flaky.failures.extend(faults(1))
    with pytest.raises(ConnectionError):
        await flaky.aretrieve("q")
    await Searching().run(q="q")
    assert story(table)[3:] == APART


def test_llama_index_without_anything_around_nobody_can_tell(
    ledger: Ledger, table: Table, manager: Any
) -> None:
    asking(*[FlakyIndex(faults(1), scored(("a", 0.9)), callback_manager=manager)] * 2)("q")
    assert story(table) == APART


def test_a_fallback_across_frameworks(ledger: Ledger, table: Table, manager: Any) -> None:
    index = FlakyIndex(faults(1), scored(("a", 0.9)), callback_manager=manager)
    chain = Listed(found=documents("a"))

    def body(query: str) -> Any:
        return asking(index)(query) or chain.invoke(query)

    observe(Calling(body=body), ledger).invoke("q")
    assert story(table, "depth = 1") == FELL_BACK
