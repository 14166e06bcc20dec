"""langchain-postgres' `PGVectorStore`: its own numbers, and how its hybrid search fuses.

A hybrid config is shared by all searches of a store, and the store writes into it while it searches: the first
query's text (`fts_query`) and the number of results. Neither is read. That a text is there is: the lexical half of
every search is then for that text, whatever is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ragledger.extraction import plain_number

from .settings import given, name_of, plain, split

__all__ = ["CLASSES", "Hybrid", "PgSettings", "inner_store", "settings_of"]

CLASSES = frozenset(
    {
        "langchain_postgres.v2.vectorstores.PGVectorStore",
        "langchain_postgres.v2.async_vectorstore.AsyncPGVectorStore",
    }
)
_FUSIONS: dict[str, tuple[str, dict[str, float]]] = {
    "langchain_postgres.v2.hybrid_search_config.weighted_sum_ranking": (
        "weighted_sum",
        {"primary_results_weight": 0.5, "secondary_results_weight": 0.5},
    ),
    "langchain_postgres.v2.hybrid_search_config.reciprocal_rank_fusion": (
        "reciprocal_rank",
        {"rrf_k": 60},
    ),
}
_PARAMETERS = ("primary_results_weight", "secondary_results_weight", "rrf_k")
_INDEX_OPTIONS = ("ef_search", "probes")


class Hybrid(NamedTuple):
    """How the two halves of a hybrid search are fused, as pairs, so that equal ones are equal."""

    configured: tuple[tuple[str, Any], ...]
    effective: tuple[tuple[str, Any], ...]
    unknown: tuple[str, ...]


class PgSettings(NamedTuple):
    """What a store brings of its own, by value."""

    k: Any
    lambda_mult: Any
    distance_strategy: str
    index_options: tuple[tuple[str, Any], ...]
    hybrid: Hybrid | None


def inner_store(store: Any) -> Any:
    """The async store that does the work of a `PGVectorStore`."""
    return getattr(store, "_PGVectorStore__vs", store)


def settings_of(store: Any, search_kwargs: Mapping[str, Any]) -> PgSettings:
    """The store's numbers. A config that the search is given takes the place of the store's own."""
    store = inner_store(store)
    config = search_kwargs.get("hybrid_search_config", store.hybrid_search_config)
    options = store.index_query_options
    return PgSettings(
        plain_number(store.k),
        plain_number(store.lambda_mult),
        str(store.distance_strategy.name).lower(),
        tuple(split(given(options, _INDEX_OPTIONS))[0].items()) if options is not None else (),
        _hybrid(config) if config is not None else None,
    )


def _hybrid(config: Any) -> Hybrid:
    parameters = config.fusion_function_parameters
    set_ones = {name: parameters[name] for name in _PARAMETERS if name in parameters}
    configured, unknown = split(set_ones, plain_number)
    shared = {
        "primary_top_k": plain_number(config.primary_top_k),
        "secondary_top_k": plain_number(config.secondary_top_k),
        "tsv_lang": plain(config.tsv_lang),
        "lexical_query": "fixed" if config.fts_query else "asked",
    }
    fusion = _FUSIONS.get(name_of_function(config.fusion_function))
    if fusion is None:
        return Hybrid(
            tuple({**configured, **shared}.items()), tuple(shared.items()), (*unknown, "fusion_function")
        )
    name, defaults = fusion
    shared["fusion"] = name
    taken = {each: configured.get(each, default) for each, default in defaults.items() if each not in unknown}
    return Hybrid(tuple({**configured, **shared}.items()), tuple({**shared, **taken}.items()), tuple(unknown))


def name_of_function(function: Any) -> str:
    """Module and name of a function; of something else, nothing that is registered."""
    try:
        return name_of(function)
    except AttributeError:
        return ""
