"""Documents into candidates: ids, ranks and scores by value, at once, because the application may change them later.

Tolerant of whatever a retriever returns. Never iterates a generator (that would take it from the application) and
never keeps a text.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragledger.model import Candidate, IdSource, Returned, ScoreKind

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["Translator"]

# A reranker's number is the later and the better one; `score` is what community retrievers leave.
_SCORES: tuple[tuple[str, str, ScoreKind], ...] = (
    ("relevance_score", "metadata.relevance_score", "rerank"),
    ("score", "metadata.score", "similarity"),
)


class Translator:
    """Reads the documents of one search."""

    __slots__ = ("_document_id_keys", "_id_key", "_ledger", "_no_score", "_source_kind_key", "flags")

    def __init__(self, ledger: Ledger, *, scored: bool) -> None:
        self._ledger = ledger
        self._id_key = ledger.chunk_id_key
        self._document_id_keys = ledger.document_id_keys
        self._source_kind_key = ledger.source_kind_key
        # Where the retriever's own code has handed scores over, "unavailable" would be false.
        self._no_score = None if scored else "unavailable"
        self.flags: set[str] = set()

    def read(self, result: Any) -> list[Candidate] | Returned | None:
        """What was returned, in order. An item that cannot be read keeps its place, without an id.

        None where the result is no list: iterating a generator would take it from the application.
        """
        if not isinstance(result, (list, tuple)):
            self.flags.add("result_unreadable")
            return None
        document = self._document
        try:
            usual = self._usual(result)
            return usual if usual is not None else [document(item) for item in result]
        except Exception as fault:
            self._ledger.guard.count("langchain.extract", fault)
            if self._ledger.guard.strict:
                raise
        self.flags.add("incomplete")
        return [self._tolerantly(item) for item in result]

    def _usual(self, result: Any) -> Returned | None:
        """Documents with an id of their own and no score; None when it is anything else."""
        key = self._source_kind_key
        try:
            ids = [item.id for item in result]
            if list(map(type, ids)).count(str) < len(ids) or not all(ids):
                return None
            metadata = [item.metadata for item in result]
            if any(["score" in each or "relevance_score" in each for each in metadata]):
                return None
            documents = self._document_ids(metadata)
            sources = [_id_text(each.get(key)) for each in metadata] if key else None
        except Exception:  # noqa: BLE001  item by item it is met again, and costs that item
            return None
        return Returned(
            chunk_ids=ids, document_ids=documents, source_kinds=sources, score_source=self._no_score
        )

    def _tolerantly(self, item: Any) -> Candidate:
        try:
            return self._document(item)
        except Exception:  # noqa: BLE001  counted once, above
            return Candidate(None)

    def _document(self, item: Any) -> Candidate:
        try:
            metadata = item.metadata
        except AttributeError:
            return self._no_document(item)
        chunk_id = item.id
        source: IdSource | None = "framework"
        if type(chunk_id) is not str or not chunk_id:
            chunk_id, source = self._id(item, metadata)
        if not metadata:
            return Candidate(chunk_id, chunk_id_source=source, score_source=self._no_score)
        score, kind, found = None, None, self._no_score
        if "relevance_score" in metadata or "score" in metadata:
            score, kind, found = self._score(metadata)
        return Candidate(
            chunk_id,
            self._document_id(metadata),
            score=score,
            score_kind=kind,
            score_source=found,
            chunk_id_source=source,
            source_kind=_id_text(metadata.get(self._source_kind_key)) if self._source_kind_key else None,
        )

    def _no_document(self, item: Any) -> Candidate:
        if isinstance(item, str):  # an EnsembleRetriever takes a text for a document as well
            derived = self._ledger.derive_id(item)
            return Candidate(derived, chunk_id_source="derived", score_source=self._no_score)
        self.flags.add("result_unreadable")
        return Candidate(None)

    def _id(self, item: Any, metadata: Any) -> tuple[str | None, IdSource | None]:
        """The id of a document whose `id` is not simply a text."""
        text = _id_text(item.id)
        if text:
            return text, "framework"
        if self._id_key is not None and metadata:
            text = _id_text(metadata.get(self._id_key))
            if text:
                return text, "metadata"
        content = item.page_content
        if not isinstance(content, str):
            self.flags.add("incomplete")
            return None, None
        return self._ledger.derive_id(content), "derived"

    def _document_ids(self, metadata: list[Any]) -> list[str | None]:
        """Of all documents; nearly always they are under the first key."""
        if self._document_id_keys:
            key = self._document_id_keys[0]
            found = [each.get(key) for each in metadata]
            if list(map(type, found)).count(str) == len(found) and all(found):
                return found
        return [self._document_id(each) for each in metadata]

    def _document_id(self, metadata: Any) -> str | None:
        for key in self._document_id_keys:
            value = metadata.get(key)
            if value is not None and (text := value if type(value) is str else _id_text(value)):
                return text
        return None

    def _score(self, metadata: Any) -> tuple[float | None, ScoreKind | None, str | None]:
        for key, where, kind in _SCORES:
            value = metadata.get(key)
            if value is not None:
                number = value if type(value) is float else _number(value)
                if number is not None:
                    return number, kind, where
                self.flags.add("unreadable_score")
        return None, None, self._no_score


def _id_text(value: Any) -> str | None:
    """An id as text. Only what is made to be an id: the text of a dict or a list could be anything."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return None
    return str(value) if isinstance(value, (str, UUID, numbers.Integral)) else None


def _number(value: Any) -> float | None:
    """Numpy's numbers and numbers written as text too; None for a grade such as "VERY_HIGH"."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
