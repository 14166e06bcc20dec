"""Retrievers that fail for a while, a model that follows a script, and small graphs around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adapters.langchain.world import documents
from adapters.llama_index.doubles import ListRetriever
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.retrievers import BaseRetriever
from typing_extensions import TypedDict

__all__ = ["Flaky", "FlakyIndex", "Question", "Scripted", "calling", "graph_of"]


class Flaky(BaseRetriever):
    """Raises as often as `failures` says, then answers; each object counts for itself, copies of it too."""

    failures: Any  # not a list: pydantic would copy it for each new instance
    name: str | None = "flaky"

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        if self.failures:
            raise self.failures.pop()
        return documents("a", "b")


class FlakyIndex(ListRetriever):
    """The same for LlamaIndex: `result` are the failures."""

    def __init__(self, failures: list[Any], found: Sequence[Any], **kwargs: Any) -> None:
        self.failures = failures
        super().__init__(list(found), **kwargs)

    def _retrieve(self, query_bundle: Any) -> Any:
        if self.failures:
            raise self.failures.pop()
        return super()._retrieve(query_bundle)


class Scripted(GenericFakeChatModel):
    """Says what the script says, whatever tools it is given."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def calling(*queries: str, tool: str = "search") -> AIMessage:
    """The model asks for the tool, once for each query, all at the same time."""
    calls = [ToolCall(name=tool, args={"query": query}, id=f"{tool}-{i}") for i, query in enumerate(queries)]
    return AIMessage(content="", tool_calls=calls)


class Question(TypedDict):
    q: str
    found: Any


def graph_of(node: Callable[..., Any], *, cache: Any = None, **policies: Any) -> Any:
    """A graph of one node."""
    from langgraph.graph import END, START, StateGraph

    builder = StateGraph(Question)
    builder.add_node("search", node, **policies)
    builder.add_edge(START, "search")
    builder.add_edge("search", END)
    return builder.compile(cache=cache)
