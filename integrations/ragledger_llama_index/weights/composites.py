"""Retrievers that pass a search on to others."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .members import RANKING, members_of
from .settings import read_as


@extractor(
    "llama_index.core.retrievers.auto_merging_retriever.AutoMergingRetriever",
    body=("_retrieve", "_aretrieve", "_get_parents_and_merge", "_fill_in_nodes", "_try_merging"),
)
def _auto_merging(retriever: Any, call: Call) -> Reading:
    """A parent stands for its children where more than this share of them was found; its score is their average."""
    own = {"simple_ratio_thresh": retriever._simple_ratio_thresh}
    members = members_of([retriever._vector_retriever], call)
    return read_as(
        "AutoMergingRetriever/1",
        own,
        {**own, **members.settings},
        ranking=RANKING | {"simple_ratio_thresh"},
        unknown=members.unknown,
    )


@extractor("llama_index.core.retrievers.router_retriever.RouterRetriever")
def _router(retriever: Any, call: Call) -> Reading:
    """Which of its members answered is known from their rows."""
    retrievers = retriever._retrievers
    members = members_of(retrievers, call)
    return read_as(
        "RouterRetriever/1",
        {},
        members.settings,
        ranking=RANKING,
        unknown=("selector", *members.unknown),
        members=tuple(retrievers),
        key=_node_id,
    )


@extractor(
    "llama_index.core.retrievers.recursive_retriever.RecursiveRetriever",
    body=("_retrieve", "_aretrieve", "_retrieve_rec", "_query_retrieved_nodes"),
)
def _recursive(retriever: Any, call: Call) -> Reading:
    """The ids of its retrievers are the application's words and are not copied; the order is that of its dict."""
    members = members_of(list(retriever._retriever_dict.values()), call)
    unknown = ("query_engines",) if retriever._query_engine_dict else ()
    return read_as(
        "RecursiveRetriever/1", {}, members.settings, ranking=RANKING, unknown=(*unknown, *members.unknown)
    )


def _node_id(item: Any) -> Any:
    return item.node.node_id


@extractor("llama_index.core.retrievers.transform_retriever.TransformRetriever")
def _transform(retriever: Any, call: Call) -> Reading:
    """What it makes of the query is not ours to read."""
    members = members_of([retriever._retriever], call)
    return read_as(
        "TransformRetriever/1",
        {},
        members.settings,
        ranking=RANKING,
        unknown=("query_transform", *members.unknown),
    )
