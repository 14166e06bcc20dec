"""Retrievers over a SQL database: an item per row of the result, or one with all of it. No scores."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .settings import mode_of, read_as

_MODULE = "llama_index.core.indices.struct_store.sql_retriever"
_BODY = ("_retrieve", "_aretrieve", "retrieve_with_metadata", "aretrieve_with_metadata")


@extractor(f"{_MODULE}.SQLRetriever", body=_BODY)
def _sql(retriever: Any, call: Call) -> Reading:
    """The query is the statement."""
    settings = {"return_raw": bool(retriever._return_raw)}
    return read_as("SQLRetriever/1", settings, settings, ranking=frozenset(settings), dense=False)


@extractor(f"{_MODULE}.NLSQLRetriever", body=_BODY)
def _sql_from_words(retriever: Any, call: Call) -> Reading:
    """A language model writes the statement. With `sql_only` the statement is what comes back."""
    sql_only, return_raw = bool(retriever._sql_only), bool(retriever._sql_retriever._return_raw)
    configured = {
        "sql_only": sql_only,
        "return_raw": return_raw,
        "sql_parser_mode": mode_of(retriever._sql_parser_mode),
    }
    effective = {"sql_only": True} if sql_only else {"sql_only": False, "return_raw": return_raw}
    return read_as(
        "NLSQLRetriever/1",
        configured,
        effective,
        ranking=frozenset({"sql_only", "return_raw"}),
        unknown=("llm", "sql_parser_mode"),
    )
