"""An agent that searches and votes: a scripted model in LangChain's own agent loop."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from adapters.langchain.world import Listed, Table, documents
from fix_pg import Database
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ragledger import Ledger
from ragledger.testing import memory_ledger
from ragledger_langchain import feedback_tool, observe, search_tool

agents = pytest.importorskip("langchain.agents")

Step = Callable[[Sequence[BaseMessage]], AIMessage]


class Scripted(BaseChatModel):
    """Answers with the next step of its script, which sees what was said so far."""

    steps: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.steps.pop(0)(messages))])


def call(tool: str, number: int, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call-{number}"}])


def references(messages: Sequence[BaseMessage]) -> tuple[str, list[str]]:
    text = str(messages[-1].content)
    [search_id] = re.findall(r"search_id: (\S+)", text)
    return search_id, re.findall(r"chunk_id: (\S+)", text)


def vote_wrong(messages: Sequence[BaseMessage]) -> AIMessage:
    search_id, _ = references(messages)
    return call("feedback", 2, search_id=search_id, chunk_id="imagined", outcome="relevant")


def run(ledger: Ledger, *, asynchronous: bool = False) -> list[BaseMessage]:
    seen: dict[str, Any] = {}

    def vote_right(messages: Sequence[BaseMessage]) -> AIMessage:
        seen["search_id"], seen["chunks"] = references(messages[:-2])
        return call(
            "feedback", 3, search_id=seen["search_id"], chunk_id=seen["chunks"][1], outcome="highly_relevant"
        )

    def vote_malformed(_: Sequence[BaseMessage]) -> AIMessage:
        return call("feedback", 4, search_id="SECRET", outcome="great")

    steps: list[Step] = [
        lambda _: call("search", 1, query="q"),
        vote_wrong,
        vote_right,
        vote_malformed,
        lambda _: AIMessage("done"),
    ]
    retriever = Listed(found=documents("a", "b"))
    tools = [search_tool(retriever, ledger), feedback_tool(ledger, actor="agent:planner")]
    agent = agents.create_agent(Scripted(steps=steps), tools)
    given = {"messages": [("user", "hello")]}
    if asynchronous:
        import asyncio

        result = asyncio.run(agent.ainvoke(given))
    else:
        result = agent.invoke(given)
    messages: list[BaseMessage] = result["messages"]
    return messages


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_searches_reads_a_refusal_and_votes(
    ledger: Ledger, table: Table, database: Database, asynchronous: bool
) -> None:
    messages = run(ledger, asynchronous=asynchronous)
    results = [message for message in messages if isinstance(message, ToolMessage)]
    assert [message.name for message in results] == ["search", "feedback", "feedback", "feedback"]
    assert [document.id for document in results[0].artifact] == ["a", "b"]
    assert str(results[1].content).startswith("Not counted (hit_not_returned): search ")
    assert results[2].content == "Counted."
    assert str(results[3].content).startswith("Not counted (malformed_reference)")
    assert "SECRET" not in str(results[3].content)
    assert messages[-1].content == "done"
    row = table.one()
    assert (row["depth"], row["retriever"]) == (0, "Listed")
    assert ledger.flush()
    votes = database.rows("SELECT rank, outcome, actor_kind, actor_id FROM current_votes")
    assert votes == [(2, "highly_relevant", "agent", "planner")]


def test_p6_a_search_without_a_row_gives_no_reference() -> None:
    with memory_ledger() as refusing:
        refusing.backend.refusal = "cap"
        retriever = observe(Listed(found=documents("a")), refusing)
        text = search_tool(retriever, refusing).invoke({"query": "q"})
    assert text == "[1]\n" + documents("a")[0].page_content
