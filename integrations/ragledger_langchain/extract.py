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
    from ragledger.observation import Observation

__all__ = ["Translator", "read"]

# A reranker's number is the later and the better one; the others are what stores and community retrievers leave.
_SCORES: tuple[tuple[str, str, ScoreKind], ...] = (
    ("relevance_score", "metadata.relevance_score", "rerank"),
    ("score", "metadata.score", "similarity"),
    ("_score", "metadata._score", "similarity"),
    ("distance", "metadata.distance", "distance"),
)
_without_score = frozenset([key for key, _, _ in _SCORES]).isdisjoint
_STATE = "query_similarity_score"


def read(result: Any, observation: Observation) -> list[Candidate] | Returned | None:
    """What was returned, in order. An item that cannot be read keeps its place, without an id.

    None where the result is no list: iterating a generator would take it from the application.
    """
    if not isinstance(result, (list, tuple)):
        observation.flags.add("result_unreadable")
        return None
    # Where the retriever's own code has handed scores over, "unavailable" would be false.
    no_score = None if observation.scored else "unavailable"
    ledger = observation.ledger
    if ledger.chunk_id_key is None and not ledger.content_keys:
        usual = _usual(result, ledger, no_score)
        if usual is not None:
            return usual
    return Translator(observation, no_score).read(result)


def _usual(result: Any, ledger: Ledger, no_score: str | None) -> Returned | None:
    """Documents with an id of their own and no score; None when it is anything else."""
    source_key = ledger.source_kind_key
    try:
        ids = [item.id for item in result]
        metadata = [item.metadata for item in result]
        "".join(ids)  # raises where one is no text
        if not all(ids) or not _without_score(set().union(*metadata)):  # of all together: one look in C
            return None
        return Returned(
            chunk_ids=ids,
            document_ids=_document_ids(metadata, ledger.document_id_keys),
            source_kinds=[_id_text(each.get(source_key)) for each in metadata] if source_key else None,
            score_source=no_score,
        )
    except Exception:  # noqa: BLE001  item by item it is met again, and costs that item
        return None


def _document_ids(metadata: list[Any], keys: tuple[str, ...]) -> list[str | None]:
    """Of all documents; nearly always they are under the first key."""
    if keys:
        first = keys[0]
        found = [each.get(first) for each in metadata]
        if all(found):
            try:
                "".join(found)
            except TypeError:  # not all of them are text
                pass
            else:
                return found
    return [_document_id(each, keys) for each in metadata]


def _document_id(metadata: Any, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = metadata.get(key)
        if value is not None and (text := value if type(value) is str else _id_text(value)):
            return text
    return None


class Translator:
    """Reads the documents of one search, one by one."""

    __slots__ = ("_document_id_keys", "_id_key", "_ledger", "_no_score", "_source_kind_key", "flags")

    def __init__(self, observation: Observation, no_score: str | None) -> None:
        self._ledger = ledger = observation.ledger
        self._id_key = ledger.chunk_id_key
        self._document_id_keys = ledger.document_id_keys
        self._source_kind_key = ledger.source_kind_key
        self._no_score = no_score
        self.flags = observation.flags

    def read(self, result: Any) -> list[Candidate]:
        """An item that cannot be read keeps its place, without an id."""
        document = self._document
        try:
            return [document(item) for item in result]
        except Exception as fault:
            self._ledger.guard.count("langchain.extract", fault)
            if self._ledger.guard.strict:
                raise
        self.flags.add("incomplete")
        return [self._tolerantly(item) for item in result]

    def item(self, document: Any) -> Candidate:
        """One document, or what is made like one."""
        return self._document(document)

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
        if self._id_key is not None or type(chunk_id) is not str or not chunk_id:
            chunk_id, source = self._id(item, metadata)
        score, kind, found = None, None, self._no_score
        if not metadata:
            metadata = {}
        elif not _without_score(metadata):
            score, kind, found = self._score(metadata)
        if score is None and (state := getattr(item, "state", None)):
            score, kind, found = self._score_in(state, (score, kind, found))
        return Candidate(
            chunk_id,
            _document_id(metadata, self._document_id_keys),
            score=score,
            score_kind=kind,
            score_source=found,
            chunk_id_source=source,
            source_kind=_id_text(metadata.get(self._source_kind_key)) if self._source_kind_key else None,
            content_key=self._ledger.content_key(item.page_content) if self._ledger.content_keys else None,
        )

    def _no_document(self, item: Any) -> Candidate:
        if isinstance(item, str):  # an EnsembleRetriever takes a text for a document as well
            derived = self._ledger.derive_id(item)
            return Candidate(derived, chunk_id_source="derived", score_source=self._no_score)
        self.flags.add("result_unreadable")
        return Candidate(None)

    def _id(self, item: Any, metadata: Any) -> tuple[str | None, IdSource | None]:
        """The configured key first: who names one has ids there that last longer than the framework's."""
        if self._id_key is not None and metadata:
            text = _id_text(metadata.get(self._id_key))
            if text:
                return text, "metadata"
        text = _id_text(item.id)
        if text:
            return text, "framework"
        content = item.page_content
        if not isinstance(content, str):
            self.flags.add("incomplete")
            return None, None
        return self._ledger.derive_id(content), "derived"

    def _score(self, metadata: Any) -> tuple[float | None, ScoreKind | None, str | None]:
        for key, where, kind in _SCORES:
            value = metadata.get(key)
            if value is not None:
                number = value if type(value) is float else _number(value)
                if number is not None:
                    return number, kind, where
                self.flags.add("unreadable_score")
        return None, None, self._no_score

    def _score_in(
        self, state: Any, otherwise: tuple[float | None, ScoreKind | None, str | None]
    ) -> tuple[float | None, ScoreKind | None, str | None]:
        """What langchain-community's filters leave beside a document."""
        value = state.get(_STATE) if isinstance(state, dict) else None
        number = _number(value) if value is not None else None
        return (number, "similarity", f"state.{_STATE}") if number is not None else otherwise


def _id_text(value: Any) -> str | None:
    """An id as text. Only what is made to be an id: the text of a dict or a list could be anything."""
    if type(value) is str:
        return value
    if value is None or isinstance(value, bool):
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
