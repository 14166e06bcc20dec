"""Tools for LlamaIndex agents: search, and say what was useful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import FunctionTool

import ragledger
from ragledger.agents import FEEDBACK_DESCRIPTION, SEARCH_DESCRIPTION, found_text, vote_text

from .handler import LedgerCallbackHandler
from .marks import own_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import NodeWithScore

    from ragledger import Ledger, Receipt

__all__ = ["feedback_tool", "search_tool"]


def search_tool(
    retriever: BaseRetriever,
    ledger: Ledger,
    *,
    name: str = "search",
    description: str = SEARCH_DESCRIPTION,
    feedback: str | None = "feedback",
) -> FunctionTool:
    """A tool that searches. Its text has a search_id and chunk ids to vote with, when the search has a row.

    A retriever that nobody observes yet gets a callback manager of its own with a handler for `ledger`.

    Args:
        feedback: the name of the feedback tool that the agent has too; None leaves references and invitation out.
    """
    if not own_marks(retriever):
        handlers = getattr(retriever.callback_manager, "handlers", [])
        retriever.callback_manager = CallbackManager([*handlers, LedgerCallbackHandler(ledger)])

    def search(query: Annotated[str, "what to look for"]) -> str:
        with ragledger.capture() as receipts:
            found = retriever.retrieve(query)
        return _shown(found, receipts, feedback)

    async def asearch(query: Annotated[str, "what to look for"]) -> str:
        with ragledger.capture() as receipts:
            found = await retriever.aretrieve(query)
        return _shown(found, receipts, feedback)

    return FunctionTool.from_defaults(search, name=name, description=description, async_fn=asearch)


def feedback_tool(
    ledger: Ledger, *, actor: str = "agent", name: str = "feedback", description: str = FEEDBACK_DESCRIPTION
) -> FunctionTool:
    """A tool that votes. A refusal is a result that the model can read and correct, never an exception.

    Args:
        actor: whose votes these are, such as `agent:planner`.
    """

    def feedback(search_id: str, outcome: str, chunk_id: str | None = None, rank: int | None = None) -> str:
        return vote_text(ledger, search_id, outcome, chunk_id=chunk_id, rank=rank, actor=actor)

    return FunctionTool.from_defaults(feedback, name=name, description=description)


def _shown(found: Sequence[NodeWithScore], receipts: Sequence[Receipt], feedback: str | None) -> str:
    texts = [item.node.get_content(metadata_mode=MetadataMode.LLM) for item in found]
    return found_text(texts, receipts, feedback=feedback)
