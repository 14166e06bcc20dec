"""QueryFusionRetriever."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .members import RANKING, members_of
from .settings import mode_of, read_as

__all__ = ["RRF_K"]

_settings = attrgetter("mode", "similarity_top_k", "num_queries", "_retriever_weights", "_retrievers")
_WEIGHTED = frozenset({"relative_score", "dist_based_score"})
_RANKING = RANKING | {"mode", "num_queries", "retriever_weights", "rrf_k"}
RRF_K = 60
"""A constant inside `_reciprocal_rerank_fusion`; a test holds it to the real scores."""


@extractor(
    "llama_index.core.retrievers.fusion_retriever.QueryFusionRetriever",
    body=(
        "_retrieve",
        "_aretrieve",
        "_reciprocal_rerank_fusion",
        "_relative_score_fusion",
        "_simple_fusion",
        "_get_queries",
        "_aget_queries",
    ),
)
def _query_fusion(retriever: Any, call: Call) -> Reading:
    """Weights do nothing in the modes reciprocal_rerank and simple."""
    set_mode, top_k, num_queries, weights, retrievers = _settings(retriever)
    mode = mode_of(set_mode)
    # A copy by value: the list belongs to the retriever and the row is written when the search has ended.
    member_weights = tuple(weights)
    members = members_of(retrievers, call)
    settings = {"mode": mode, "num_queries": num_queries, "similarity_top_k": top_k}
    effective: dict[str, Any] = {**settings, **members.settings}
    if mode in _WEIGHTED:
        effective["retriever_weights"] = member_weights
    elif mode == "reciprocal_rerank":
        effective["rrf_k"] = RRF_K
    generated = ("llm",) if num_queries > 1 else ()
    return read_as(
        "QueryFusionRetriever/2",
        {**settings, "retriever_weights": member_weights},
        effective,
        ranking=_RANKING,
        unknown=(*generated, *members.unknown),
        top_k=top_k,
        score_kind=None if mode == "simple" else "fused",
        members=tuple(retrievers),
        key=_content,
    )


def _content(item: Any) -> Any:
    return item.node.hash
