"""Retrievers over a vector store."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from ragledger.extraction import Call, Reading, extractor, plain_number

from . import stores
from .settings import given, mode_of, read_as

__all__ = ["read_query"]

# LlamaIndex keeps its settings private, but for the number of results.
_settings = attrgetter(
    "_vector_store_query_mode",
    "_similarity_top_k",
    "_alpha",
    "_sparse_top_k",
    "_hybrid_top_k",
    "_vector_store",
    "_node_ids",
    "_kwargs",
    "_filters",
    "_doc_ids",
)
_RANKING = frozenset(
    {"mode", "alpha", "sparse_top_k", "hybrid_top_k", "mmr_threshold", "mmr_prefetch_k", "hnsw_ef_search"}
    | {"text_search_config"}
)
_NOT_NARROWED: tuple[Any, ...] = ({}, None, None)
_usual: dict[tuple[Any, ...], Reading] = {}
_CACHE_SIZE = 256


@extractor(
    "llama_index.core.indices.vector_store.retrievers.retriever.VectorIndexRetriever",
    body=("_retrieve", "_aretrieve", "_build_vector_store_query"),
)
def _vector_index(retriever: Any, call: Call) -> Reading:
    # The usual store says nothing of its own: equal settings have the same reading, and it is by value.
    said = _settings(retriever)
    if said[7:] != _NOT_NARROWED or not stores.is_plain(type(said[5])) or not _are_all(said[6], retriever):
        return _anew(retriever, said)
    key = said[:5]
    reading = _usual.get(key)
    if reading is None:
        if len(_usual) >= _CACHE_SIZE:
            _usual.clear()
        reading = _usual[key] = _anew(retriever, said)
    return reading


def _are_all(node_ids: Any, retriever: Any) -> bool:
    """Whether these are the nodes of the index: `as_retriever` hands over all that there were."""
    if node_ids is None:
        return True
    try:
        return len(node_ids) == len(retriever._index.index_struct.nodes_dict)
    except (AttributeError, TypeError):
        return False


def _anew(retriever: Any, said: tuple[Any, ...]) -> Reading:
    set_mode, top_k, alpha, sparse_top_k, hybrid_top_k, store, node_ids, kwargs, filters, doc_ids = said
    asked = stores.Query(
        mode_of(set_mode),
        top_k,
        given(alpha=alpha, sparse_top_k=sparse_top_k, hybrid_top_k=hybrid_top_k),
        _numbers(kwargs) if kwargs else {},
    )
    unknown = _not_copied(
        filters=filters,
        node_ids=None if _are_all(node_ids, retriever) else node_ids,
        doc_ids=doc_ids,
        vector_store_kwargs=len(asked.kwargs) < len(kwargs) or None,
    )
    return _of_store("VectorIndexRetriever/2", store, asked, unknown)


def _of_store(reader: str, store: Any, asked: stores.Query, unknown: tuple[str, ...]) -> Reading:
    taken = stores.of_store(store, asked)
    return read_as(
        reader,
        {
            "mode": asked.mode,
            "similarity_top_k": asked.similarity_top_k,
            **given(mmr_threshold=asked.mmr_threshold),
            **asked.hybrid,
            **asked.kwargs,
        },
        taken.effective,
        ranking=_RANKING,
        unknown=taken.unknown + unknown,
        top_k=asked.similarity_top_k,
        score_kind=taken.score_kind,
        signal=taken.signal,
        dense=taken.dense,
    )


def read_query(store: Any, query: Any, kwargs: Mapping[str, Any]) -> Reading:
    """What shapes the answer of a store that is asked directly."""
    numbers = _numbers(kwargs)
    asked = stores.Query(
        mode_of(query.mode),
        query.similarity_top_k,
        given(alpha=query.alpha, sparse_top_k=query.sparse_top_k, hybrid_top_k=query.hybrid_top_k),
        numbers,
        plain_number(query.mmr_threshold),
    )
    unknown = _not_copied(
        filters=query.filters,
        node_ids=query.node_ids,
        doc_ids=query.doc_ids,
        vector_store_kwargs=any(name not in numbers for name in kwargs) or None,
    )
    return _of_store("VectorStoreQuery/1", store, asked, unknown)


def _numbers(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return given(**{name: plain_number(kwargs.get(name)) for name in stores.NUMBERS})


def _not_copied(**values: Any) -> tuple[str, ...]:
    """The names of what narrows a search and may hold anything, personal data too."""
    return tuple(name for name, value in values.items() if value is not None)


# --- VectorIndexAutoRetriever ------------------------------------------------------------------------------

_AUTO_RANKING = frozenset({"mode", "max_top_k", "empty_query_top_k"})


@extractor(
    "llama_index.core.indices.vector_store.retrievers.auto_retriever.auto_retriever.VectorIndexAutoRetriever",
    body=("_retrieve", "_aretrieve", "_build_retriever_from_spec"),
)
def _vector_index_auto(retriever: Any, call: Call) -> Reading:
    """A language model chooses filters and the number of results per query, within these limits.

    What it chose is in the row of the retriever that it makes.
    """
    top_k = retriever._similarity_top_k
    settings = given(
        mode=mode_of(retriever._vector_store_query_mode),
        similarity_top_k=top_k,
        max_top_k=retriever._max_top_k,
        empty_query_top_k=retriever._empty_query_top_k,
    )
    unknown = ("llm", "filters", *(("kwargs",) if retriever._kwargs else ()))
    return read_as(
        "VectorIndexAutoRetriever/1", settings, settings, ranking=_AUTO_RANKING, unknown=unknown, top_k=top_k
    )


# --- MultiModalVectorIndexRetriever ------------------------------------------------------------------------

_MULTI_RANKING = _RANKING | {"image_similarity_top_k"}


@extractor("llama_index.core.indices.multi_modal.retriever.MultiModalVectorIndexRetriever")
def _multi_modal(retriever: Any, call: Call) -> Reading:
    """Texts, then images, each list from a store of its own; both are asked in the same way."""
    mode = mode_of(retriever._vector_store_query_mode)
    text_top_k, image_top_k = retriever._similarity_top_k, retriever._image_similarity_top_k
    hybrid = given(alpha=retriever._alpha, sparse_top_k=retriever._sparse_top_k)
    kwargs = retriever._kwargs
    numbers = _numbers(kwargs)
    effective: dict[str, Any] = {}
    unknown: tuple[str, ...] = ()
    dense = False
    for store, top_k in ((retriever._vector_store, text_top_k), (retriever._image_vector_store, image_top_k)):
        if store is None:
            continue
        taken = stores.of_store(store, stores.Query(mode, top_k, hybrid, numbers))
        effective.update(taken.effective)
        unknown = (*unknown, *(name for name in taken.unknown if name not in unknown))
        dense = dense or taken.dense
    if retriever._vector_store is not None:
        effective["similarity_top_k"] = text_top_k
    else:
        effective.pop("similarity_top_k", None)
    if retriever._image_vector_store is not None:
        effective["image_similarity_top_k"] = image_top_k
    configured = {
        "mode": mode, "similarity_top_k": text_top_k, "image_similarity_top_k": image_top_k, **hybrid, **numbers
    }  # fmt: skip
    unknown += _not_copied(
        filters=retriever._filters,
        node_ids=retriever._node_ids,
        doc_ids=retriever._doc_ids,
        vector_store_kwargs=len(numbers) < len(kwargs) or None,
    )
    return read_as(
        "MultiModalVectorIndexRetriever/1",
        configured,
        effective,
        ranking=_MULTI_RANKING,
        unknown=unknown,
        dense=dense,
    )
