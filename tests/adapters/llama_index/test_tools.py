"""An agent that searches and votes: a scripted model in LlamaIndex's own agent workflow."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, scored
from fix_pg import Database
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import MockLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

from ragledger import Ledger
from ragledger.testing import memory_ledger
from ragledger_llama_index import LedgerCallbackHandler, feedback_tool, search_tool

Said = Sequence[ChatMessage]


class Scripted(MockLLM, FunctionCallingLLM):
    """Answers with the next step of its script: a tool call, or None for the end."""

    steps: Any = ()

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {"messages": chat_history}

    async def astream_chat_with_tools(self, tools: Any, chat_history: Any = None, **kwargs: Any) -> Any:
        step = self.steps.pop(0)(chat_history)

        async def answer() -> Any:
            yield ChatResponse(message=ChatMessage("", role="assistant"), delta="", raw=step)

        return answer()

    def get_tool_calls_from_response(self, response: ChatResponse, **kwargs: Any) -> list[ToolSelection]:
        return [response.raw] if response.raw is not None else []


def call(tool: str, number: int, **arguments: Any) -> ToolSelection:
    return ToolSelection(tool_id=f"call-{number}", tool_name=tool, tool_kwargs=arguments)


def references(said: Said) -> tuple[str, list[str]]:
    [text] = [str(message.content) for message in said if "search_id: " in str(message.content)]
    return re.findall(r"search_id: (\S+)", text)[0], re.findall(r"chunk_id: (\S+)", text)


def steps() -> list[Callable[[Said], Any]]:
    def wrong(said: Said) -> Any:
        return call("feedback", 2, search_id=references(said)[0], chunk_id="imagined", outcome="relevant")

    def right(said: Said) -> Any:
        search_id, chunks = references(said)
        return call("feedback", 3, search_id=search_id, chunk_id=chunks[1], outcome="highly_relevant")

    return [lambda _: call("search", 1, query="q"), wrong, right, lambda _: None]


async def run(ledger: Ledger, *, marked: bool) -> list[ToolCallResult]:
    manager = CallbackManager([LedgerCallbackHandler(ledger)] if marked else [])
    retriever = ListRetriever(scored(("a", 0.9), ("b", 0.5)), callback_manager=manager)
    tools = [search_tool(retriever, ledger), feedback_tool(ledger, actor="agent:planner")]
    model = Scripted()
    model.steps = steps()
    handler = FunctionAgent(tools=tools, llm=model).run("hello")
    results = [event async for event in handler.stream_events() if isinstance(event, ToolCallResult)]
    await handler
    return results


# llama-index's workflows look at every attribute of their own pydantic models.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.parametrize("marked", [False, True])
def test_an_agent_searches_reads_a_refusal_and_votes(
    ledger: Ledger, rows: Any, database: Database, marked: bool
) -> None:
    results = asyncio.run(run(ledger, marked=marked))
    texts = [str(result.tool_output.content) for result in results]
    assert [result.tool_name for result in results] == ["search", "feedback", "feedback"]
    assert texts[1].startswith("Not counted (hit_not_returned): search ")
    assert texts[2] == "Counted."
    assert rows("depth, retriever", ledger) == [(0, "ListRetriever")]
    votes = database.rows("SELECT rank, outcome, actor_kind, actor_id FROM current_votes")
    assert votes == [(2, "highly_relevant", "agent", "planner")]


def test_p6_a_search_without_a_row_gives_no_reference() -> None:
    with memory_ledger() as refusing:
        refusing.backend.refusal = "cap"
        retriever = ListRetriever(scored(("a", 0.9)))
        text = search_tool(retriever, refusing).call(query="q").content
    assert re.match(r"\[1\]\n", text)
    assert "search_id" not in text


def test_the_managers_of_others_are_left_alone(ledger: Ledger) -> None:
    manager = CallbackManager([])
    first, second = (ListRetriever(scored(("a", 0.9)), callback_manager=manager) for _ in range(2))
    search_tool(first, ledger)
    assert manager.handlers == []
    assert second.callback_manager is manager
