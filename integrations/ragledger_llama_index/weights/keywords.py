"""Retrievers over a keyword table. They count matching keywords and give no scores."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .settings import read_as, without

_MODULE = "llama_index.core.indices.keyword_table.retrievers"
_BODY = ("_retrieve", "_aretrieve", "_get_keywords")
_RANKING = frozenset({"max_keywords_per_query"})


def _settings(retriever: Any) -> dict[str, Any]:
    return {
        "num_chunks_per_query": retriever.num_chunks_per_query,
        "max_keywords_per_query": retriever.max_keywords_per_query,
    }


@extractor(f"{_MODULE}.KeywordTableSimpleRetriever", f"{_MODULE}.KeywordTableRAKERetriever", body=_BODY)
def _keyword_table(retriever: Any, call: Call) -> Reading:
    settings = _settings(retriever)
    return read_as(
        "KeywordTableRetriever/1",
        settings,
        settings,
        ranking=_RANKING,
        top_k=settings["num_chunks_per_query"],
        dense=False,
    )


@extractor(f"{_MODULE}.KeywordTableGPTRetriever", body=_BODY)
def _keyword_table_llm(retriever: Any, call: Call) -> Reading:
    """The number of keywords is a wish in a prompt: what the language model gives is taken as it is."""
    settings = _settings(retriever)
    return read_as(
        "KeywordTableGPTRetriever/1",
        settings,
        without(settings, "max_keywords_per_query"),
        unknown=("llm", "max_keywords_per_query"),
        top_k=settings["num_chunks_per_query"],
        dense=False,
    )
