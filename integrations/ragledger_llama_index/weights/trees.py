"""Retrievers over a tree index. None of them gives scores."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .settings import read_as

_TREE = "llama_index.core.indices.tree"
_BODY = ("_retrieve", "_aretrieve", "_retrieve_level", "_select_nodes")
_RANKING = frozenset({"child_branch_factor"})


@extractor(
    f"{_TREE}.all_leaf_retriever.TreeAllLeafRetriever", f"{_TREE}.tree_root_retriever.TreeRootRetriever"
)
def _whole_tree(retriever: Any, call: Call) -> Reading:
    """All leaves, or all roots: nothing shapes a ranking."""
    return read_as("TreeRetriever/1", {}, {}, dense=False)


@extractor(f"{_TREE}.select_leaf_retriever.TreeSelectLeafRetriever", body=_BODY)
def _select_leaf(retriever: Any, call: Call) -> Reading:
    """A language model chooses the way down; the framework cuts its answer to so many branches."""
    settings = {"child_branch_factor": retriever.child_branch_factor}
    return read_as(
        "TreeSelectLeafRetriever/1", settings, settings, ranking=_RANKING, unknown=("llm",), dense=False
    )


@extractor(f"{_TREE}.select_leaf_embedding_retriever.TreeSelectLeafEmbeddingRetriever", body=_BODY)
def _select_leaf_embedding(retriever: Any, call: Call) -> Reading:
    settings = {"child_branch_factor": retriever.child_branch_factor}
    # Whether embeddings were compared depends on the size of the tree.
    return read_as("TreeSelectLeafEmbeddingRetriever/1", settings, settings, ranking=_RANKING)
