"""A hybrid search over pgvector, written once: both frameworks' retrievers below only translate it.

This is what an application's own retriever looks like with Ragledger: the search hands its signals to
`ragledger.current()`, and knows nothing of journals, tables or frameworks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

import ragledger
from ragledger import Candidate
from ragledger.sql import named_queries

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EMBEDDING_MODEL", "Embedder", "EmbeddingUnavailable", "Found", "HybridSearch", "load_embedder"]

EMBEDDING_MODEL = "wordllama-l2-supercat-256"

Embedder = Callable[[Sequence[str]], "np.ndarray[Any, Any]"]
"""Texts to unit vectors, one row each."""


class EmbeddingUnavailable(Exception):
    """The embedding provider does not answer."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with what each signal said of it. `vector` is None when the embedding failed."""

    chunk_id: str
    document_id: str
    text: str
    vector: float | None
    lexical: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridSearch:
    """Vector and lexical candidates, fused by a weighted sum, cut by a threshold."""

    connection: psycopg.Connection[Any]
    embed: Embedder
    vector: float = 0.6
    lexical: float = 0.4
    threshold: float = 0.2
    candidates_per_signal: int = 20
    top_k: int = 10

    def search(self, query: str) -> list[Found]:
        """The best passages for a question; falls back to words alone when the embedding is not to be had."""
        observation = ragledger.current()
        observation.declare(weights=self._settings(), top_k=self.top_k, embedding_model=EMBEDDING_MODEL)
        try:
            rows = self._query("hybrid", query, self.embed([query])[0].tolist())
        except EmbeddingUnavailable:
            observation.degrade("embedding_unavailable", vector_available=False)
            rows = self._query("lexical", query, None)
        found = sorted((self._fuse(*row) for row in rows), key=lambda item: (-item.score, item.chunk_id))
        admitted = [item for item in found if item.score >= self.threshold][: self.top_k]
        chosen = {item.chunk_id for item in admitted}
        observation.candidates(*(_candidate(item, admitted=item.chunk_id in chosen) for item in found))
        return admitted

    def _settings(self) -> dict[str, float | int]:
        return {
            "vector": self.vector,
            "lexical": self.lexical,
            "threshold": self.threshold,
            "candidates_per_signal": self.candidates_per_signal,
        }

    def _query(self, name: str, query: str, embedding: list[float] | None) -> list[tuple[Any, ...]]:
        values = {"query": query, "candidates": self.candidates_per_signal, "embedding": str(embedding)}
        return self.connection.execute(named_queries("demo")[name], values).fetchall()

    def _fuse(
        self, chunk_id: str, document_id: str, text: str, vector: float | None, lexical: float
    ) -> Found:
        # Without a vector the lexical score is all there is: its weight would only shift the threshold.
        score = lexical if vector is None else self.vector * vector + self.lexical * lexical
        return Found(chunk_id, document_id, text, vector, lexical, score)


def _candidate(item: Found, *, admitted: bool) -> Candidate:
    return Candidate(
        item.chunk_id,
        item.document_id,
        score=item.score,
        vector=item.vector,
        lexical=item.lexical,
        admitted=admitted,
        source_kind="reference",
    )


def load_embedder() -> Embedder:
    """The static model that ships in wordllama's wheel: no network, no GPU."""
    import wordllama

    # It looks for its tokenizer below cache_dir; by default not where its own wheel puts it.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def embed(texts: Sequence[str]) -> np.ndarray[Any, Any]:
        vectors: np.ndarray[Any, Any] = model.embed(list(texts), norm=True)
        return vectors

    return embed
