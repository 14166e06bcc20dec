"""Retrievers that fuse what their members give: `EnsembleRetriever`, `MergerRetriever`."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import BODY, Call, Reading, extractor

from .members import members_of
from .settings import extracted

__all__: list[str] = []

_RANKING = frozenset({"fusion", "weights", "c", "id_key", "members", "member_settings"})


@extractor(
    "langchain_classic.retrievers.ensemble.EnsembleRetriever",
    "langchain.retrievers.ensemble.EnsembleRetriever",
    body=(*BODY, "rank_fusion", "arank_fusion", "weighted_reciprocal_rank"),
)
def _ensemble(retriever: Any, call: Call) -> Reading:
    """Reciprocal rank fusion. Per-call keyword arguments do not reach the members."""
    settings = {
        "fusion": "reciprocal_rank",
        "weights": list(retriever.weights),
        "c": retriever.c,
        "id_key": retriever.id_key,
    }
    return _of_members("langchain.EnsembleRetriever/1", settings, retriever.retrievers, call)


@extractor(
    "langchain_classic.retrievers.merger_retriever.MergerRetriever",
    "langchain.retrievers.merger_retriever.MergerRetriever",
    body=(*BODY, "merge_documents", "amerge_documents"),
)
def _merger(retriever: Any, call: Call) -> Reading:
    """In turn one of each member. Nothing is left out, so there are no weights, and no number of results."""
    return _of_members("langchain.MergerRetriever/1", {"fusion": "interleaved"}, retriever.retrievers, call)


def _of_members(name: str, settings: dict[str, Any], retrievers: Any, call: Call) -> Reading:
    members = members_of(retrievers, call)
    settings |= members.settings
    return extracted(name, settings, settings, _RANKING, unknown=members.unknown, members=tuple(retrievers))
