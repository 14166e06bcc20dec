"""Retrievers that have a model rewrite the question and hand it to another: `MultiQueryRetriever`, `RePhraseQueryRetriever`."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import BODY, Call, Reading, extractor

from .members import members_of
from .settings import extracted

__all__: list[str] = []

_RANKING = frozenset({"include_original", "members", "member_settings"})


@extractor(
    "langchain_classic.retrievers.multi_query.MultiQueryRetriever",
    "langchain.retrievers.multi_query.MultiQueryRetriever",
    body=(
        *BODY,
        "generate_queries",
        "agenerate_queries",
        "retrieve_documents",
        "aretrieve_documents",
        "unique_union",
    ),
)
def _multi_query(retriever: Any, call: Call) -> Reading:
    """What several questions find, each document once. Which questions, the model says."""
    settings = {"include_original": bool(retriever.include_original)}
    return _around("langchain.MultiQueryRetriever/1", settings, retriever.retriever, call)


@extractor(
    "langchain_classic.retrievers.re_phraser.RePhraseQueryRetriever",
    "langchain.retrievers.re_phraser.RePhraseQueryRetriever",
)
def _re_phrase(retriever: Any, call: Call) -> Reading:
    return _around("langchain.RePhraseQueryRetriever/1", {}, retriever.retriever, call)


def _around(name: str, settings: dict[str, Any], inner: Any, call: Call) -> Reading:
    member = members_of([inner], call)
    settings |= member.settings
    return extracted(name, settings, settings, _RANKING, unknown=["llm_chain", *member.unknown])
