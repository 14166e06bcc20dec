"""Below what a retriever was asked, so that a retry or a fallback is told from another search.

Looked at only when a search fails, and for as long as a failure is remembered.

Code that catches an error and asks again, or asks another retriever, does it inside one span: a query engine, a tool, a
workflow step. A step with a retry policy runs again in a span of its own; what stays is the run of the workflow, which
LlamaIndex puts into the tags, and the name of the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragledger.attempts import Place

__all__ = ["places"]

_RUN = "llamaindex.run_id"
_ID_LENGTH = len("-00000000-0000-0000-0000-000000000000")


def places(parent_span_id: str | None, tags: Mapping[str, Any] | None) -> tuple[Place, ...]:
    """The span around the call, and the step of a workflow."""
    if parent_span_id is None:
        return ()
    run_id = tags.get(_RUN) if tags else None
    if run_id is None:
        return (Place(parent_span_id),)
    return Place(parent_span_id), Place((_RUN, run_id, parent_span_id[:-_ID_LENGTH]))
