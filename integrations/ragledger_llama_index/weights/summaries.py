"""Retrievers over a summary index, a document summary index, and an empty one."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .settings import given, read_as

_LIST = "llama_index.core.indices.list.retrievers"
_DOCUMENTS = "llama_index.core.indices.document_summary.retrievers"


@extractor(f"{_LIST}.SummaryIndexRetriever", "llama_index.core.indices.empty.retrievers.EmptyIndexRetriever")
def _everything(retriever: Any, call: Call) -> Reading:
    """Every node in the order of the index, or none: nothing shapes a ranking."""
    return read_as("SummaryIndexRetriever/1", {}, {}, dense=False)


@extractor(f"{_LIST}.SummaryIndexEmbeddingRetriever", body=("_retrieve", "_aretrieve", "_get_embeddings"))
def _summary_embedding(retriever: Any, call: Call) -> Reading:
    top_k = retriever._similarity_top_k
    settings = given(similarity_top_k=top_k)
    return read_as(
        "SummaryIndexEmbeddingRetriever/1", settings, settings, top_k=top_k, signal="vector", dense=True
    )


@extractor(f"{_LIST}.SummaryIndexLLMRetriever")
def _summary_llm(retriever: Any, call: Call) -> Reading:
    """A language model grades the nodes, so many at a time; the grades are the scores."""
    settings = {"choice_batch_size": retriever._choice_batch_size}
    return _graded("SummaryIndexLLMRetriever/1", settings)


@extractor(f"{_DOCUMENTS}.DocumentSummaryIndexLLMRetriever")
def _document_summary_llm(retriever: Any, call: Call) -> Reading:
    """So many summaries are chosen; all nodes of their documents come back, each with the grade of its summary."""
    settings = {
        "choice_batch_size": retriever._choice_batch_size,
        "choice_top_k": retriever._choice_top_k,
    }
    return _graded("DocumentSummaryIndexLLMRetriever/1", settings)


@extractor(f"{_DOCUMENTS}.DocumentSummaryIndexEmbeddingRetriever")
def _document_summary_embedding(retriever: Any, call: Call) -> Reading:
    """The number is of summaries, not of hits. The similarities are dropped by the framework."""
    settings = {"similarity_top_k": retriever._similarity_top_k}
    dense = bool(getattr(retriever._vector_store, "is_embedding_query", True))
    return read_as(
        "DocumentSummaryIndexEmbeddingRetriever/1",
        settings,
        settings,
        ranking=frozenset(settings),
        dense=dense,
    )


def _graded(name: str, settings: dict[str, Any]) -> Reading:
    """By the grades that a language model gives, of which only the batches are known."""
    return read_as(
        name,
        settings,
        settings,
        ranking=frozenset(settings),
        unknown=("llm",),
        score_kind="rerank",
        dense=False,
    )
