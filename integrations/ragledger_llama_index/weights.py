"""What shaped a ranking, read from a retriever by an allow-list of numbers and modes per class.

Never `vars()`: filters and keyword arguments hold personal data and query text. Configured and effective are kept
apart, because a mode that ignores a setting still shows it. A class that is not listed here is unknown.
"""

from __future__ import annotations

from enum import Enum
from operator import attrgetter
from typing import Any

from ragledger.extraction import Call, Reading, extractor, read
from ragledger.weights import Weights

__all__ = ["Reading", "read"]


def _mode(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


# --- VectorIndexRetriever ----------------------------------------------------------------------------------

# LlamaIndex keeps its settings private, but for the number of results.
_vector_settings = attrgetter(
    "_vector_store_query_mode",
    "_similarity_top_k",
    "_alpha",
    "_sparse_top_k",
    "_hybrid_top_k",
    "_vector_store",
)
_HYBRID = frozenset({"hybrid", "semantic_hybrid"})
_NOT_DENSE = frozenset({"sparse", "text_search"})
_HYBRID_NAMES = ("alpha", "sparse_top_k", "hybrid_top_k")
_VECTOR_RANKING = frozenset({"mode", "alpha", "sparse_top_k"})
_IGNORED_BY_STORE = {
    "llama_index.vector_stores.postgres.base.PGVectorStore": frozenset({"alpha", "hybrid_top_k"})
}
"""PGVectorStore warns that it ignores alpha, and concatenates its two lists without a limit of its own."""


@extractor(
    "llama_index.core.indices.vector_store.retrievers.retriever.VectorIndexRetriever",
    body=("_retrieve", "_aretrieve"),
)
def _vector_index(retriever: Any, call: Call) -> Reading:
    set_mode, top_k, alpha, sparse_top_k, hybrid_top_k, store = _vector_settings(retriever)
    mode = _mode(set_mode)
    hybrid = _given(alpha=alpha, sparse_top_k=sparse_top_k, hybrid_top_k=hybrid_top_k)
    effective: dict[str, Any] = {"mode": mode, "similarity_top_k": top_k}
    unknown: tuple[str, ...] = ()
    if mode in _HYBRID:
        ignored = _ignored_by(type(store))
        effective.update({name: value for name, value in hybrid.items() if name not in ignored})
        # Not given means the store's own default, which is not ours to guess.
        unknown = tuple(name for name in _HYBRID_NAMES if name not in hybrid and name not in ignored)
    elif mode in _NOT_DENSE and "sparse_top_k" in hybrid:
        unknown = ("sparse_top_k",)  # some stores use it here, some do not
    return Reading(
        weights=Weights(
            configured={"mode": mode, "similarity_top_k": top_k, **hybrid},
            effective=effective,
            source="extracted",
            unknown=unknown,
            ranking=_VECTOR_RANKING,
            extractor="llama_index.VectorIndexRetriever/1",
        ),
        top_k=top_k,
        score_kind="fused" if mode in _HYBRID else None,
        dense=mode not in _NOT_DENSE and bool(getattr(store, "is_embedding_query", True)),
    )


def _ignored_by(store: type) -> frozenset[str]:
    for base in store.__mro__:
        if (ignored := _IGNORED_BY_STORE.get(f"{base.__module__}.{base.__qualname__}")) is not None:
            return ignored
    return frozenset()


# --- QueryFusionRetriever ----------------------------------------------------------------------------------

_fusion_settings = attrgetter("mode", "similarity_top_k", "num_queries", "_retriever_weights")
_WEIGHTED = frozenset({"relative_score", "dist_based_score"})
_FUSION_RANKING = frozenset({"mode", "num_queries", "retriever_weights", "rrf_k"})
_RRF_K = 60
"""A constant inside `_reciprocal_rerank_fusion`; a test holds it to the real scores."""


@extractor(
    "llama_index.core.retrievers.fusion_retriever.QueryFusionRetriever", body=("_retrieve", "_aretrieve")
)
def _query_fusion(retriever: Any, call: Call) -> Reading:
    set_mode, top_k, num_queries, weights = _fusion_settings(retriever)
    mode = _mode(set_mode)
    # A copy by value: the list belongs to the retriever and the row is written when the search has ended.
    member_weights = tuple(weights)
    effective = {"mode": mode, "num_queries": num_queries, "similarity_top_k": top_k}
    configured = {**effective, "retriever_weights": member_weights}
    if mode in _WEIGHTED:
        effective["retriever_weights"] = member_weights
    elif mode == "reciprocal_rerank":
        effective["rrf_k"] = _RRF_K
    return Reading(
        weights=Weights(
            configured=configured,
            effective=effective,
            source="extracted",
            ranking=_FUSION_RANKING,
            extractor="llama_index.QueryFusionRetriever/1",
        ),
        top_k=top_k,
        score_kind=None if mode == "simple" else "fused",
    )
