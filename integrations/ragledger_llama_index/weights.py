"""What shaped a ranking, read from a retriever by an allow-list of numbers and modes per class.

Never `vars()`: filters and keyword arguments hold personal data and query text. Configured and effective are kept
apart, because a mode that ignores a setting still shows it. A class that is not listed here is unknown.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

from ragledger.model import ScoreKind
from ragledger.weights import UNKNOWN, Weights

__all__ = ["UNREAD", "Extractor", "Reading", "extractor", "read"]


class Reading(NamedTuple):
    """What an extractor knows of a retriever at this moment, by value.

    `dense` says whether an answer is an answer of dense retrieval; None when that is not known.
    """

    weights: Weights = UNKNOWN
    top_k: Any = None
    score_kind: ScoreKind | None = None
    dense: bool | None = None


Extractor = Callable[[Any], Reading]

UNREAD = Reading()


class _Found(NamedTuple):
    extract: Extractor | None
    overridden: bool


_extractors: dict[str, Extractor] = {}
_by_class: weakref.WeakKeyDictionary[type, _Found] = weakref.WeakKeyDictionary()


def extractor(class_name: str) -> Callable[[Extractor], Extractor]:
    """Registers a reader for a retriever class and its subclasses, by its qualified name: nothing is imported."""

    def register(extract: Extractor) -> Extractor:
        _extractors[class_name] = extract
        _by_class.clear()
        return extract

    return register


def read(retriever: Any) -> Reading:
    """The reading by the nearest class with an extractor; `UNREAD` when there is none. May raise what a reader raises."""
    cls = type(retriever)
    found = _by_class.get(cls)
    if found is None:
        found = _by_class[cls] = _find(cls)
    if found.extract is None:
        return UNREAD
    reading = found.extract(retriever)
    if not isinstance(reading, Reading):
        raise TypeError("an extractor gives back a Reading")
    return _of_override(reading) if found.overridden else reading


def _find(cls: type) -> _Found:
    overridden = False
    for base in cls.__mro__:
        extract = _extractors.get(f"{base.__module__}.{base.__qualname__}")
        if extract is not None:
            return _Found(extract, overridden)
        overridden = overridden or "_retrieve" in base.__dict__ or "_aretrieve" in base.__dict__
    return _Found(None, overridden)


def _of_override(reading: Reading) -> Reading:
    """A subclass with a search of its own: the settings are read, what it does with them is not known."""
    weights = reading.weights
    return reading._replace(
        weights=Weights(
            configured=weights.configured,
            effective=weights.effective,
            source=weights.source,
            unknown=(*weights.unknown, "override"),
            ranking=weights.ranking,
            extractor=weights.extractor,
        ),
        dense=None,
    )


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


@extractor("llama_index.core.indices.vector_store.retrievers.retriever.VectorIndexRetriever")
def _vector_index(retriever: Any) -> Reading:
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


@extractor("llama_index.core.retrievers.fusion_retriever.QueryFusionRetriever")
def _query_fusion(retriever: Any) -> Reading:
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
