"""BM25Retriever of llama-index-retrievers-bm25."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .settings import read_as

_RANKING = frozenset({"k1", "b", "delta", "method", "idf_method", "skip_stemming"})
_WITH_DELTA = frozenset({"bm25l", "bm25+"})
_TOKEN_PATTERN = r"(?u)\b\w\w+\b"


@extractor("llama_index.retrievers.bm25.base.BM25Retriever")
def _bm25(retriever: Any, call: Call) -> Reading:
    """`similarity_top_k` is as it was cut to the size of the corpus: what was asked for is not kept.

    Its scores are the lexical signal. It pads its list with chunks of score 0, which match nothing.
    """
    index = retriever.bm25
    top_k = retriever.similarity_top_k
    configured = {
        "similarity_top_k": top_k,
        "k1": index.k1,
        "b": index.b,
        "delta": index.delta,
        "method": index.method,
        "idf_method": index.idf_method,
        "skip_stemming": bool(retriever.skip_stemming),
    }
    effective = dict(configured)
    if index.method not in _WITH_DELTA:
        del effective["delta"]
    unknown = ["stopwords"]  # applied when the corpus was indexed, and not kept
    if not retriever.skip_stemming:
        unknown.append("stemmer")
    if retriever.token_pattern != _TOKEN_PATTERN:
        unknown.append("token_pattern")
    if retriever.corpus_weight_mask:
        unknown.append("filters")
    return read_as(
        "BM25Retriever/1",
        configured,
        effective,
        ranking=_RANKING,
        unknown=tuple(unknown),
        top_k=top_k,
        signal="lexical",
        dense=False,
    )
