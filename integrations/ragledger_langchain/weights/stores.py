"""Retrievers of langchain-classic that search a vector store by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragledger.extraction import BODY, Call, Reading, extractor, plain_number

from .settings import extracted, plain, split
from .vector_store import has_embeddings, settings_for

__all__: list[str] = []

_SEARCH = frozenset({"search_type", "score_threshold", "fetch_k", "lambda_mult"})


@extractor(
    "langchain_classic.retrievers.multi_vector.MultiVectorRetriever",
    "langchain.retrievers.multi_vector.MultiVectorRetriever",
)
def _multi_vector(retriever: Any, call: Call) -> Reading:
    """ParentDocumentRetriever too. `k` counts the small chunks that are searched; parents come back, fewer of them."""
    store = retriever.vectorstore
    found = settings_for(store, str(plain(retriever.search_type)), retriever.search_kwargs, _bare(call))
    own = {"id_key": plain(retriever.id_key)}
    return extracted(
        f"langchain.{_name(retriever)}/1",
        {**_renamed(found.configured), **own},
        {**_renamed(found.effective), **own},
        _SEARCH | {"id_key", "candidates"},
        unknown=_renamed(dict.fromkeys(found.unknown)),
        dense=has_embeddings(store),
    )


@extractor(
    "langchain_classic.retrievers.self_query.base.SelfQueryRetriever",
    "langchain.retrievers.self_query.base.SelfQueryRetriever",
    body=(*BODY, "_prepare_query", "_get_docs_with_query", "_aget_docs_with_query"),
)
def _self_query(retriever: Any, call: Call) -> Reading:
    """A model writes the query, a filter and maybe the number of results: those of this search are not known."""
    store = retriever.vectorstore
    found = settings_for(store, str(retriever.search_type), retriever.search_kwargs, _bare(call))
    own = {"use_original_query": bool(retriever.use_original_query)}
    effective = {name: value for name, value in found.effective.items() if name != "k"}
    return extracted(
        "langchain.SelfQueryRetriever/1",
        {**found.configured, **own},
        {**effective, **own},
        _SEARCH | {"use_original_query"},
        unknown=[*found.unknown, "k", "filter", "query_constructor"],
        dense=has_embeddings(store),
    )


@extractor(
    "langchain_classic.retrievers.time_weighted_retriever.TimeWeightedVectorStoreRetriever",
    "langchain.retrievers.time_weighted_retriever.TimeWeightedVectorStoreRetriever",
    body=(*BODY, "_get_combined_score", "_get_rescored_docs", "get_salient_docs", "aget_salient_docs"),
)
def _time_weighted(retriever: Any, call: Call) -> Reading:
    """Relevance, plus what is left of freshness, plus other scores, of what the store finds and the last `k` documents."""
    store = retriever.vectorstore
    search = settings_for(store, "similarity_score_threshold", retriever.search_kwargs, _bare(call))
    own, unread = split(
        {
            "k": retriever.k,
            "decay_rate": retriever.decay_rate,
            "default_salience": retriever.default_salience,
        },
        plain_number,
    )
    keys = [key for key in map(plain, retriever.other_score_keys) if isinstance(key, str)]
    own["other_score_keys"] = keys
    if len(keys) < len(retriever.other_score_keys):
        unread.append("other_score_keys")
    candidates = _renamed(search.effective)
    del candidates["search_type"]
    return extracted(
        "langchain.TimeWeightedVectorStoreRetriever/1",
        {**_renamed(search.configured, drop=("search_type",)), **own},
        {**candidates, **own},
        frozenset({"candidates", "score_threshold", "decay_rate", "default_salience", "other_score_keys"}),
        unknown=[*_renamed(dict.fromkeys(search.unknown)), *unread],
        top_k=own.get("k"),
        dense=has_embeddings(store),
    )


def _bare(call: Call) -> Call:
    """These classes do not hand per-call arguments on."""
    return Call({}, call.asynchronous)


def _renamed(settings: Mapping[str, Any], drop: tuple[str, ...] = ()) -> dict[str, Any]:
    """The store's `k` is a number of candidates here."""
    return {
        "candidates" if name == "k" else name: value for name, value in settings.items() if name not in drop
    }


def _name(retriever: Any) -> str:
    parent = any(base.__name__ == "ParentDocumentRetriever" for base in type(retriever).__mro__)
    return "ParentDocumentRetriever" if parent else "MultiVectorRetriever"
