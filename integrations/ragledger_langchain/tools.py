"""Tools for LangChain and LangGraph agents: search, and say what was useful."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool

import ragledger
from ragledger.agents import FEEDBACK_DESCRIPTION, SEARCH_DESCRIPTION, found_text, vote_text
from ragledger.model import Outcome

from .marks import LEDGER
from .observe import observe

if TYPE_CHECKING:
    from ragledger import Ledger, Receipt

__all__ = ["feedback_tool", "search_tool"]


def search_tool(
    retriever: Runnable[str, list[Document]],
    ledger: Ledger,
    *,
    name: str = "search",
    description: str = SEARCH_DESCRIPTION,
    feedback: str | None = "feedback",
) -> BaseTool:
    """A tool that searches. Its text has a search_id and chunk ids to vote with, when the search has a row.

    A retriever that nobody observes yet is observed in `ledger`. The documents are the tool message's artifact.

    Args:
        feedback: the name of the feedback tool that the agent has too; None leaves references and invitation out.
    """
    if isinstance(retriever, BaseRetriever) and LEDGER not in (retriever.metadata or {}):
        retriever = observe(retriever, ledger)

    def search(query: str) -> tuple[str, list[Document]]:
        with ragledger.capture() as receipts:
            found = retriever.invoke(query)
        return _shown(found, receipts, feedback), found

    async def asearch(query: str) -> tuple[str, list[Document]]:
        with ragledger.capture() as receipts:
            found = await retriever.ainvoke(query)
        return _shown(found, receipts, feedback), found

    return StructuredTool.from_function(
        search, asearch, name, description, response_format="content_and_artifact"
    )


def feedback_tool(
    ledger: Ledger, *, actor: str = "agent", name: str = "feedback", description: str = FEEDBACK_DESCRIPTION
) -> BaseTool:
    """A tool that votes. A refusal is a result that the model can read and correct, never an exception.

    Args:
        actor: whose votes these are, such as `agent:planner`.
    """

    def feedback(
        search_id: str, outcome: Outcome, chunk_id: str | None = None, rank: int | None = None
    ) -> str:
        return vote_text(ledger, search_id, outcome, chunk_id=chunk_id, rank=rank, actor=actor)

    return StructuredTool.from_function(feedback, None, name, description, handle_validation_error=_malformed)


def _shown(found: Any, receipts: Sequence[Receipt], feedback: str | None) -> str:
    return found_text([document.page_content for document in found], receipts, feedback=feedback)


def _malformed(_: Any) -> str:
    """Pydantic's own message quotes what the model wrote."""
    return "Not counted (malformed_reference): give search_id, outcome, and either chunk_id or rank."
