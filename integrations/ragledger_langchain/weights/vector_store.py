"""A search of a vector store, as `VectorStoreRetriever` and others make it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ragledger.extraction import Call, Reading, extractor, plain_number
from ragledger.weights import Weights

from . import pg_store
from .settings import name_of, plain

__all__ = ["SearchSettings", "direct", "has_embeddings", "settings_for"]

_CACHE_SIZE = 1024


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
_NAME = "langchain.VectorStoreRetriever/1"
_RANKING = frozenset(
    {
        "search_type",
        "score_threshold",
        "fetch_k",
        "lambda_mult",
        "distance_strategy",
        "fusion",
        "primary_results_weight",
        "secondary_results_weight",
        "rrf_k",
        "primary_top_k",
        "secondary_top_k",
        "tsv_lang",
        "lexical_query",
    }
)
_PLAIN = frozenset({int, float, type(None)})
_KNOWN = frozenset({*_SETTINGS, "filter"})
_WORD = re.compile(r"[A-Za-z0-9_.:/-]{1,60}")
# Of these no more than the name is anybody's business: they may hold a question, a person or a password.
_CLOSED = re.compile(
    r"query|text|filter|where|expr|prompt|user|tenant|key|token|secret|password", re.IGNORECASE
)


class _Other(NamedTuple):
    """What a store is given that only the store knows: `alpha`, `hybrid`, `namespace`. The type tells 1 from True."""

    name: str
    type: type
    value: int | float | str | bool | None


class _Search(NamedTuple):
    """All that the reading of a search depends on, by value: equal ones share it."""

    store: type
    search_type: str
    asynchronous: bool
    filtered: bool
    dense: bool
    values: tuple[Any, ...]
    own: pg_store.PgSettings | None
    others: tuple[_Other, ...] = ()
    method: str | None = None
    """What is called, where it is not what the search type calls."""


class SearchSettings(NamedTuple):
    """What a search of a store is configured with, what takes effect, and what cannot be said."""

    configured: dict[str, Any]
    effective: dict[str, Any]
    unknown: list[str]


_readings: dict[_Search, Reading] = {}
_defaults: dict[tuple[type, str], dict[str, int | float]] = {}
_is_pg: dict[type, bool] = {}


@extractor("langchain_core.vectorstores.base.VectorStoreRetriever")
def _vector_store(retriever: Any, call: Call) -> Reading:
    settings = retriever.search_kwargs
    if call.kwargs:
        settings = {**settings, **call.kwargs}
    return _read_cached(_search(retriever.vectorstore, str(retriever.search_type), settings, call))


def direct(store: Any, method: str, search_type: str, settings: Mapping[str, Any], call: Call) -> Reading:
    """The reading of a store whose method is called by itself."""
    search = _search(store, search_type, settings, call)
    return _read_cached(search._replace(method=method, dense=search.dense or "by_vector" in method))


def settings_for(store: Any, search_type: str, settings: Mapping[str, Any], call: Call) -> SearchSettings:
    """What of `settings` takes effect in a search that another class makes of a store."""
    return _settings(_search(store, search_type, settings, call))


def has_embeddings(store: Any) -> bool:
    """Whether the store embeds what it is asked: the two places where LangChain itself looks for them."""
    return getattr(store, "embeddings", None) is not None or hasattr(
        getattr(store, "embedding", None), "embed_query"
    )


def _search(store: Any, search_type: str, settings: Mapping[str, Any], call: Call) -> _Search:
    kind = type(store)
    own = _is_pg.get(kind)
    if own is None:
        if len(_is_pg) >= _CACHE_SIZE:
            _is_pg.clear()
        own = _is_pg[kind] = any(name_of(base) in pg_store.CLASSES for base in kind.__mro__)
    return _Search(
        kind,
        search_type,
        call.asynchronous,
        settings.get("filter") is not None,
        has_embeddings(store),
        tuple([settings.get(name) for name in _SETTINGS]),
        pg_store.settings_of(store, settings) if own else None,
        () if _KNOWN.issuperset(settings) else _others(settings, _PG_OWN if own else _KNOWN),
    )


_PG_OWN = _KNOWN | {"hybrid_search_config"}


def _others(settings: Mapping[str, Any], known: frozenset[str]) -> tuple[_Other, ...]:
    found = []
    for name, given in settings.items():
        if name in known or given is None or type(name) is not str:
            continue
        value = None if _CLOSED.search(name) else plain(given)
        if isinstance(value, str) and (type(value) is not str or not _WORD.fullmatch(value)):
            value = None
        found.append(_Other(name, type(value), value))
    return tuple(found)


def _read_cached(search: _Search) -> Reading:
    if not _PLAIN.issuperset(map(type, search.values)):  # a foreign object has its own ideas of equality
        return _read_search(search)
    reading = _readings.get(search)
    if reading is None:
        if len(_readings) >= _CACHE_SIZE:
            _readings.clear()
        reading = _readings[search] = _read_search(search)
    return reading


def _read_search(search: _Search) -> Reading:
    configured, effective, unknown = _settings(search)
    return Reading(
        Weights(
            configured=configured,
            effective=effective,
            source="extracted",
            unknown=tuple(unknown),
            ranking=_RANKING,
            extractor=_NAME,
        ),
        effective.get("k"),
        score_kind="fused" if search.own is not None and search.own.hybrid is not None else None,
        signal="vector" if search.dense else None,
        dense=search.dense,
    )


def _settings(search: _Search) -> SearchSettings:
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
    if search.own is not None:
        _add_own(search.own, configured, effective, unknown)
    for name, _, value in search.others:  # what a store makes of it cannot be shown here
        if value is not None:
            configured.setdefault(name, value)
        if name not in unknown:
            unknown.append(name)
    if search.filtered:
        unknown.append("filter")  # that there is one shapes the ranking; what it says may be personal
    return SearchSettings(configured, effective, unknown)


def _effective(configured: dict[str, Any], search: _Search, unknown: list[str]) -> dict[str, Any]:
    effective: dict[str, Any] = {"search_type": search.search_type}
    taken: tuple[str, ...] = ()
    kind = _SEARCH_TYPES.get(search.search_type)
    if kind is not None:
        taken = kind.settings
        method = search.method or ("a" if search.asynchronous else "") + kind.method
        defaults = _defaults_of(search.store, method)
        if search.own is not None:
            # The store's numbers stand where none is given; an MMR search without `fetch_k` fetches `k`.
            own = {"k": search.own.k, "fetch_k": search.own.k, "lambda_mult": search.own.lambda_mult}
            defaults = {**own, **defaults}
        for name in taken:
            value = configured.get(name, defaults.get(name))
            if value is not None and name not in unknown:
                effective[name] = value
            elif name == "k" and name not in unknown:
                unknown.append(name)
    # A setting that this search type has no use for is handed to the store all the same, and some stores use it.
    unknown.extend([name for name in configured if name not in taken and name != "search_type"])
    return effective


def _add_own(
    own: pg_store.PgSettings, configured: dict[str, Any], effective: dict[str, Any], unknown: list[str]
) -> None:
    configured["distance_strategy"] = effective["distance_strategy"] = own.distance_strategy
    if effective.get("lambda_mult") == 0 and own.lambda_mult is not None:  # a 0 is taken for "not given"
        effective["lambda_mult"] = own.lambda_mult
    if own.index_options:  # they shape an approximate search, where there is an index of that kind
        configured.update(own.index_options)
        unknown.extend([name for name, _ in own.index_options])
    if own.hybrid is None:
        return
    configured.update(own.hybrid.configured)
    if effective["search_type"] == "mmr":
        # Its lexical half is searched with what an earlier search left, or not at all.
        unknown.extend(["hybrid", *own.hybrid.unknown])
        effective.pop("fetch_k", None)
        return
    effective.update(own.hybrid.effective)
    unknown.extend(own.hybrid.unknown)


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
