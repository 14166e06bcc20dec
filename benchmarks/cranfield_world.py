"""Cranfield in pgvector: documents, questions, judgments, and the demo's hybrid search over them with BM25.

Read from a directory, never copied: `cran.all.1400`, `cran.qry`, `cranqrel`. The n-th question of `cran.qry` is question n
of `cranqrel`, whatever its `.I` says. Grades are 1 (best) to 4; -1 and 5 are not relevant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psycopg

from ragledger.demo.corpus import Passage
from ragledger.demo.hybrid import Embedder, HybridSearch
from ragledger.demo.index import build

__all__ = ["OUTCOMES", "SHOWN", "Bm25Search", "Collection", "Scores", "index", "load", "scores_of"]

EACH, SHOWN = 20, 10
"""Candidates of each signal, and results."""

OUTCOMES = {1: "highly_relevant", 2: "relevant", 3: "relevant", 4: "partially_relevant"}
"""By grade; anything else is `not_relevant`."""
_QUERIES = dict(
    re.findall(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", (Path(__file__).parent / "cranfield.sql").read_text("utf-8"),
               re.DOTALL | re.MULTILINE)
)  # fmt: skip


class Collection(NamedTuple):
    documents: list[Passage]
    questions: list[str]
    grades: dict[tuple[int, str], int]
    """By place of the question and chunk id."""


def load(directory: Path) -> Collection:
    """The collection; its documents as passages of one chunk."""
    documents = [
        Passage(chunk_id=f"d{number}", document_id=f"d{number}", ordinal=0, text=text)
        for number, text in _records(directory / "cran.all.1400")
    ]
    grades = {}
    for line in (directory / "cranqrel").read_text("utf-8").splitlines():
        question, document, grade = map(int, line.split())
        grades[question - 1, f"d{document}"] = grade
    return Collection(documents, [text for _, text in _records(directory / "cran.qry")], grades)


def _records(path: Path) -> list[tuple[int, str]]:
    """Number and text (`.W`, else the title: one abstract is empty) of each record."""
    found = []
    for record in re.split(r"^\.I ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        number, _, rest = record.partition("\n")
        fields = re.split(r"^\.([TABW])\n", rest, flags=re.MULTILINE)
        named = dict(zip(fields[1::2], fields[2::2], strict=True))
        text = " ".join(named["W"].split()) or " ".join(named.get("T", "").split())
        found.append((int(number), text or "empty"))
    return found


class Bm25Search(HybridSearch):
    """The demo's search, with BM25 in place of `ts_rank_cd`."""

    def _query(self, name: str, query: str, embedding: list[float] | None) -> list[tuple[Any, ...]]:
        values = {"query": query, "candidates": self.candidates_per_signal, "embedding": str(embedding)}
        return self.connection.execute(_QUERIES[name], values).fetchall()

    def score(self, query: str) -> list[tuple[Any, ...]]:
        """Chunk id, ..., vector and lexical score of every candidate."""
        return self._query("hybrid", query, self.embed([query])[0].tolist())


def index(connection: psycopg.Connection[Any], collection: Collection, embed: Embedder) -> None:
    """Documents into pgvector, and the words of each with their BM25 weight."""
    build(connection, collection.documents, embed)
    connection.execute(_QUERIES["index"])


class Scores:
    """Questions by documents, as the real search scored them, and what it considers; ties are broken as it does."""

    def __init__(
        self, vector: np.ndarray, lexical: np.ndarray, grade: np.ndarray, ids: Sequence[str]
    ) -> None:
        self.vector, self.lexical, self.grade, self.ids = vector, lexical, grade, ids
        self._by_id = np.argsort(np.argsort(ids))
        self.candidates = [self._considered(question) for question in range(len(grade))]
        """Per question the candidates, and whether each signal's own list holds them."""

    def _considered(self, question: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        vector = np.lexsort((self._by_id, -self.vector[question]))[:EACH]
        lexical = np.lexsort((self._by_id, -self.lexical[question]))[:EACH]
        lexical = lexical[self.lexical[question, lexical] > 0]
        union = np.union1d(vector, lexical)
        return union, np.isin(union, vector), np.isin(union, lexical)

    def top(self, question: int, weight: float) -> np.ndarray:
        """What is shown: the best of the candidates by the fused score."""
        union = self.candidates[question][0]
        score = weight * self.vector[question, union] + (1 - weight) * self.lexical[question, union]
        return union[np.lexsort((self._by_id[union], -score))][:SHOWN]


def scores_of(search: Bm25Search, collection: Collection) -> Scores:
    """Every document for every question, asked of the search itself."""
    ids = [passage.chunk_id for passage in collection.documents]
    place = {chunk_id: number for number, chunk_id in enumerate(ids)}
    shape = len(collection.questions), len(ids)
    vector, lexical, grade = np.zeros(shape), np.zeros(shape), np.full(shape, 5)
    for number, question in enumerate(collection.questions):
        for chunk_id, _, _, dense, sparse in search.score(question):
            vector[number, place[chunk_id]], lexical[number, place[chunk_id]] = dense, sparse
    for (number, chunk_id), found in collection.grades.items():
        grade[number, place[chunk_id]] = found
    return Scores(vector, lexical, grade, ids)
