"""What shaped a ranking, read from a retriever: by class, by an allow-list of numbers and short words.

Never `vars()`, never a filter, never a document: a config can hold query text and personal data. See
`ragledger.extraction`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from ragledger.extraction import Call, Reading, extractor, plain_number, read
from ragledger.weights import Weights

__all__ = ["Call", "Reading", "read"]

_CACHE_SIZE = 1024


# --- VectorStoreRetriever ----------------------------------------------------------------------------------


class _SearchType(NamedTuple):
    """The store's method behind a search type, and the settings that it takes."""

    method: str
    settings: tuple[str, ...]


_SEARCH_TYPES = {
    "similarity": _SearchType("similarity_search", ("k",)),
    "similarity_score_threshold": _SearchType(
        "similarity_search_with_relevance_scores", ("k", "score_threshold")
    ),
    "mmr": _SearchType("max_marginal_relevance_search", ("k", "fetch_k", "lambda_mult")),
}
_SETTINGS = ("k", "score_threshold", "fetch_k", "lambda_mult")
_VECTOR_STORE = "langchain.VectorStoreRetriever/1"
_VECTOR_STORE_RANKING = frozenset({"search_type", "score_threshold", "fetch_k", "lambda_mult"})
_PLAIN = frozenset({int, float, type(None)})


class _Search(NamedTuple):
    """All that the reading of a search depends on, by value: equal ones share it."""

    store: type
    search_type: str
    asynchronous: bool
    filtered: bool
    dense: bool
    values: tuple[Any, ...]


_readings: dict[_Search, Reading] = {}
_defaults: dict[tuple[type, str], dict[str, int | float]] = {}


@extractor(
    "langchain_core.vectorstores.base.VectorStoreRetriever",
    body=("_get_relevant_documents", "_aget_relevant_documents"),
)
def _vector_store(retriever: Any, call: Call) -> Reading:
    store = retriever.vectorstore
    settings = retriever.search_kwargs
    if call.kwargs:
        settings = {**settings, **call.kwargs}
    values = tuple([settings.get(name) for name in _SETTINGS])
    search = _Search(
        type(store),
        str(retriever.search_type),
        call.asynchronous,
        settings.get("filter") is not None,
        _has_embeddings(store),
        values,
    )
    if not _PLAIN.issuperset(map(type, values)):  # a foreign object has its own ideas of equality
        return _read_search(search)
    reading = _readings.get(search)
    if reading is None:
        if len(_readings) >= _CACHE_SIZE:
            _readings.clear()
        reading = _readings[search] = _read_search(search)
    return reading


def _read_search(search: _Search) -> Reading:
    configured: dict[str, Any] = {"search_type": search.search_type}
    unknown: list[str] = []
    for name, value in zip(_SETTINGS, search.values, strict=True):
        if value is not None:
            number = plain_number(value)
            if number is None:
                unknown.append(name)
            else:
                configured[name] = number
    effective = _effective(configured, search, unknown)
    if search.filtered:
        unknown.append("filter")  # that there is one shapes the ranking; what it says may be personal
    return Reading(
        Weights(
            configured=configured,
            effective=effective,
            source="extracted",
            unknown=tuple(unknown),
            ranking=_VECTOR_STORE_RANKING,
            extractor=_VECTOR_STORE,
        ),
        effective.get("k"),
        signal="vector" if search.dense else None,
        dense=search.dense,
    )


def _effective(configured: dict[str, Any], search: _Search, unknown: list[str]) -> dict[str, Any]:
    effective: dict[str, Any] = {"search_type": search.search_type}
    taken: tuple[str, ...] = ()
    kind = _SEARCH_TYPES.get(search.search_type)
    if kind is not None:
        taken = kind.settings
        defaults = _defaults_of(search.store, ("a" if search.asynchronous else "") + kind.method)
        for name in taken:
            value = configured.get(name, defaults.get(name))
            if value is not None and name not in unknown:
                effective[name] = value
            elif name == "k" and name not in unknown:
                unknown.append(name)
    # A setting that this search type has no use for is handed to the store all the same, and some stores use it.
    unknown.extend([name for name in configured if name not in taken and name != "search_type"])
    return effective


def _defaults_of(store: type, method: str) -> dict[str, int | float]:
    """The numbers in the signature of the store's method: what is in force when nothing is configured."""
    try:
        return _defaults[store, method]
    except KeyError:
        pass
    found = {}
    try:
        parameters = inspect.signature(getattr(store, method)).parameters
    except (AttributeError, TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    for name in _SETTINGS:
        if name in parameters and (number := plain_number(parameters[name].default)) is not None:
            found[name] = number
    if len(_defaults) >= _CACHE_SIZE:
        _defaults.clear()
    _defaults[store, method] = found
    return found


def _has_embeddings(store: Any) -> bool:
    # The two places where LangChain itself looks for them.
    return getattr(store, "embeddings", None) is not None or hasattr(
        getattr(store, "embedding", None), "embed_query"
    )


# --- EnsembleRetriever -------------------------------------------------------------------------------------

_ENSEMBLE = "langchain.EnsembleRetriever/1"
_ENSEMBLE_RANKING = frozenset({"fusion", "weights", "c", "id_key", "members", "member_settings"})


@extractor(
    "langchain_classic.retrievers.ensemble.EnsembleRetriever",
    "langchain.retrievers.ensemble.EnsembleRetriever",
    body=("rank_fusion", "arank_fusion", "weighted_reciprocal_rank"),
)
def _ensemble(retriever: Any, call: Call) -> Reading:
    """Reciprocal rank fusion. Per-call keyword arguments do not reach the members, so `call` gives nothing."""
    members = list(retriever.retrievers)
    unknown: list[str] = []
    settings: dict[str, Any] = {
        "fusion": "reciprocal_rank",
        "weights": list(retriever.weights),
        "c": retriever.c,
        "id_key": retriever.id_key,
        "members": [type(member).__name__ for member in members],
        "member_settings": [
            _member_settings(member, call, number, unknown) for number, member in enumerate(members, 1)
        ],
    }
    return Reading(
        Weights(
            configured=settings,
            effective=settings,
            source="extracted",
            unknown=tuple(unknown),
            ranking=_ENSEMBLE_RANKING,
            extractor=_ENSEMBLE,
        )
    )


def _member_settings(member: Any, call: Call, number: int, unknown: list[str]) -> dict[str, Any] | None:
    """How many candidates a member gives, and by which search, shapes the fused ranking as much as the weights do."""
    given: Mapping[str, Any] = {}
    while type(member).__name__ == "RunnableBinding":
        given = {**member.kwargs, **given}
        member = member.bound
    weights = read(member, Call(given, call.asynchronous)).weights
    if weights.source == "unknown":
        unknown.append(f"member_{number}")
        return None
    # Two levels of lists and mappings is what a row of weights holds: an ensemble in an ensemble says its own.
    return {name: value for name, value in weights.effective.items() if name != "member_settings"}
