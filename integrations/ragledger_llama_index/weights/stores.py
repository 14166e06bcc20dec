"""What a vector store makes of a query: its own defaults, and which settings it ignores.

Of a store that is not listed the contract of `VectorStoreQuery` is believed: what was given takes effect in the modes
that it is for, and what was not given is the store's own default, which is not ours to guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from .settings import given

__all__ = ["NUMBERS", "Query", "Taken", "is_plain", "of_store"]

NUMBERS = (
    "mmr_threshold",
    "mmr_prefetch_factor",
    "mmr_prefetch_k",
    "hnsw_ef_search",
    "ivfflat_probes",
)
"""Settings that reach a store as keyword arguments. Others go by a name of the application's, which is not copied."""


class Query(NamedTuple):
    """How a store is asked, as far as numbers and words say."""

    mode: str
    similarity_top_k: Any
    hybrid: Mapping[str, Any]  # alpha, sparse_top_k, hybrid_top_k: those that are given
    kwargs: Mapping[str, Any]  # of NUMBERS: those that are given
    mmr_threshold: Any = None  # in the query itself, where only some stores look for it


class Taken(NamedTuple):
    """What takes effect. `dense`: an answer means that embeddings were compared; `signal`: what its scores are."""

    effective: dict[str, Any]
    unknown: tuple[str, ...] = ()
    dense: bool = True
    signal: str | None = "vector"
    score_kind: str | None = None


_Store: TypeAlias = Callable[[Any, Query], Taken]

_HYBRID = frozenset({"hybrid", "semantic_hybrid"})
_SPARSE = frozenset({"sparse", "text_search"})
_LEARNERS = frozenset({"svm", "linear_regression", "logistic_regression"})
_HYBRID_NAMES = ("alpha", "sparse_top_k", "hybrid_top_k")
_MMR_THRESHOLD = 0.5
_MMR_PREFETCH_FACTOR = 4.0
"""Constants of the two stores' code; tests hold them to what the stores return."""


def of_store(store: Any, query: Query) -> Taken:
    """What takes effect of a query to this store."""
    return _reader_of(type(store))(store, query)


def is_plain(kind: type) -> bool:
    """Whether what takes effect depends on the query alone."""
    try:
        return _read_by[kind] is _simple
    except KeyError:
        return _reader_of(kind) is _simple


def _reader_of(kind: type) -> _Store:
    """The reader of a class of stores, by its qualified name or that of a base."""
    try:
        return _read_by[kind]
    except KeyError:
        pass
    read: _Store = _contract
    above: list[type] = []
    for base in kind.__mro__:
        known = _KNOWN.get(f"{base.__module__}.{base.__qualname__}")
        if known is not None:
            # A store with a query of its own may do anything.
            read = known if not any("query" in vars(derived) for derived in above) else _contract
            break
        above.append(base)
    if len(_read_by) >= _CACHE_SIZE:
        _read_by.clear()
    _read_by[kind] = read
    return read


def _contract(store: Any, query: Query) -> Taken:
    mode = query.mode
    effective: dict[str, Any] = {"mode": mode, "similarity_top_k": query.similarity_top_k}
    if mode in _HYBRID:
        effective.update(query.hybrid)
        unknown = tuple(name for name in _HYBRID_NAMES if name not in query.hybrid)
        return Taken(effective, unknown, signal=None, score_kind="fused")
    if mode in _SPARSE:
        # Some stores use it here, some do not.
        unknown = ("sparse_top_k",) if "sparse_top_k" in query.hybrid else ()
        return Taken(effective, unknown, dense=False, signal="lexical")
    if mode == "mmr":
        given_threshold = query.kwargs.get("mmr_threshold", query.mmr_threshold)
        if given_threshold is None or None not in (query.mmr_threshold, query.kwargs.get("mmr_threshold")):
            return Taken(effective, ("mmr_threshold",), signal=None)  # not given, or given in two places
        return Taken({**effective, "mmr_threshold": given_threshold}, signal=None)
    return Taken(
        effective,
        dense=bool(getattr(store, "is_embedding_query", True)),
        signal="vector" if mode == "default" else None,
    )


def _simple(store: Any, query: Query) -> Taken:
    """SimpleVectorStore: dense only. It trains its learner without saying which, so that it is always the first."""
    mode = "svm" if query.mode in _LEARNERS else query.mode
    effective = {"mode": mode, "similarity_top_k": query.similarity_top_k}
    if mode == "mmr":
        effective["mmr_threshold"] = query.kwargs.get("mmr_threshold", _MMR_THRESHOLD)
        return Taken(effective, signal=None)
    return Taken(effective, dense=mode not in _SPARSE, signal="vector" if mode == "default" else None)


def _postgres(store: Any, query: Query) -> Taken:
    """PGVectorStore: hybrid is the dense list, then the sparse one; it warns that it ignores alpha."""
    mode, top_k, kwargs = query.mode, query.similarity_top_k, query.kwargs
    sparse_top_k = query.hybrid.get("sparse_top_k") or top_k
    words = str(store.text_search_config)
    unknown = ("customize_query_fn",) if getattr(store, "_customize_query_fn", None) is not None else ()
    if mode in _SPARSE:
        taken = {"mode": "sparse", "sparse_top_k": sparse_top_k, "text_search_config": words}
        return Taken(taken, unknown, dense=False, signal="lexical")
    effective: dict[str, Any] = {"mode": mode, "similarity_top_k": top_k}
    if store.hnsw_kwargs:
        ef_search = kwargs.get("hnsw_ef_search") or store.hnsw_kwargs.get("hnsw_ef_search")
        effective.update(given(hnsw_ef_search=ef_search))
    if "ivfflat_probes" in kwargs:
        unknown = (*unknown, "ivfflat_probes")  # takes effect where there is such an index
    if mode == "hybrid":
        effective |= {"sparse_top_k": sparse_top_k, "text_search_config": words}
        # Two scales in one list, nothing fused: a chunk has the score of the list that it was taken from.
        return Taken(effective, unknown, signal=None, score_kind="similarity")
    if mode == "mmr":
        factor = kwargs.get("mmr_prefetch_factor", _MMR_PREFETCH_FACTOR)
        fetched = kwargs.get("mmr_prefetch_k")
        fetched = int(fetched if fetched is not None else top_k * factor)
        effective["mmr_prefetch_k"] = max(fetched, top_k)
        own = query.mmr_threshold
        effective["mmr_threshold"] = own if own is not None else kwargs.get("mmr_threshold", _MMR_THRESHOLD)
        return Taken(effective, unknown, signal=None)
    return Taken(effective, unknown)


_KNOWN: dict[str, _Store] = {
    "llama_index.core.vector_stores.simple.SimpleVectorStore": _simple,
    "llama_index.vector_stores.postgres.base.PGVectorStore": _postgres,
}
_read_by: dict[type, _Store] = {}
_CACHE_SIZE = 256
