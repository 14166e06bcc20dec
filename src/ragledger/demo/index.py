"""Puts the demo's corpus into pgvector."""

from __future__ import annotations

from typing import Any

import psycopg

from ragledger.sql import named_queries

from .corpus import Passage
from .hybrid import Embedder

__all__ = ["CORPUS", "build"]

CORPUS = "python-reference"


def build(
    connection: psycopg.Connection[Any], corpus: list[Passage], embed: Embedder, name: str = CORPUS
) -> int:
    """Embeds and stores every passage; a second run replaces the first one's. The number of passages."""
    queries = named_queries("demo")
    vectors = embed([passage.text for passage in corpus])
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(queries["create"])
        cursor.execute(queries["empty"])
        with cursor.copy(queries["fill"]) as copy:
            for passage, vector in zip(corpus, vectors, strict=True):
                copy.write_row((passage.chunk_id, passage.document_id, passage.text, str(vector.tolist())))
        cursor.execute(queries["index"])
        cursor.execute(queries["inventory"], {"corpus": name})
    return len(corpus)
