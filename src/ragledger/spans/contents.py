"""What a span may say beyond numbers: ids of documents, and text. All of it off unless switched on.

Text needs two switches: ours, and the one that an application has opened for its language models already, because
opening that one must not open ours by accident.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .names import (
    DOCUMENT_IDS,
    DOCUMENT_SCORES,
    DOCUMENT_TEXTS,
    DOCUMENTS,
    INPUT,
    INPUT_TYPE,
    MOST_DOCUMENTS,
    QUERY_TEXT,
)

if TYPE_CHECKING:
    from ragledger.model import SearchRecord
    from ragledger.settings import Settings

__all__ = ["Contents", "Heard", "contents_from"]

_logger = logging.getLogger(__name__)

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = frozenset({"SPAN_ONLY", "SPAN_AND_EVENT"})
_HIDES_INPUT = ("OPENINFERENCE_HIDE_INPUTS", "OPENINFERENCE_HIDE_INPUT_TEXT")
_HIDES_CHUNKS = (
    "OPENINFERENCE_HIDE_OUTPUTS",
    "OPENINFERENCE_HIDE_OUTPUT_TEXT",
    "OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS",
)
_LONGEST = 2000


class Contents(NamedTuple):
    """What is switched on. `mirror` is the query under OpenInference's name as well."""

    document_ids: bool = False
    query: bool = False
    mirror: bool = False
    chunks: bool = False

    @property
    def text(self) -> bool:
        """Whether any text is wanted."""
        return self.query or self.chunks

    def attributes(self, record: SearchRecord, heard: Heard | None) -> dict[str, Any]:
        """What is switched on, of this search. Of one that failed it is not known what it would have found."""
        found = self._documents(record) if self.document_ids and record.status == "ok" else {}
        if heard is not None:
            found.update(self._texts(record, *heard))
        return found

    def _documents(self, record: SearchRecord) -> dict[str, Any]:
        """Ids and scores of the first hits, in both forms. What is missing is left out."""
        found: dict[str, Any] = {}
        documents = []
        for place, (_, chunk_id, score) in enumerate(_admitted(record)):
            said: dict[str, Any] = {}
            if chunk_id is not None:
                said["id"] = found[DOCUMENT_IDS[place]] = chunk_id
            if score is not None and math.isfinite(score):
                said["score"] = found[DOCUMENT_SCORES[place]] = score
            documents.append(said)
        # A text: lists of mappings are allowed, and not every collector and back end takes them.
        found[DOCUMENTS] = json.dumps(documents, ensure_ascii=False, separators=(",", ":"))
        return found

    def _texts(self, record: SearchRecord, query: str | None, chunks: Sequence[str | None]) -> dict[str, str]:
        """The texts that are wanted, cut to a bearable length."""
        found: dict[str, str] = {}
        if self.query and query is not None:
            found[QUERY_TEXT] = _plain(query)
            if self.mirror:
                found[INPUT] = found[QUERY_TEXT]
                found[INPUT_TYPE] = "text/plain"
        if self.chunks:
            for place, (rank, _, _) in enumerate(_admitted(record)):
                text = chunks[rank - 1] if rank <= len(chunks) else None
                if text is not None:
                    found[DOCUMENT_TEXTS[place]] = _plain(text)
        return found


def _plain(text: str) -> str:
    """Cut, and without unpaired surrogates: an exporter would lose the whole batch by one."""
    return text[:_LONGEST].encode("utf-8", "backslashreplace").decode()[:_LONGEST]


Heard: TypeAlias = "tuple[str | None, Sequence[str | None]]"
"""The query and the texts of what was returned, in that order: held while the search is open."""


def contents_from(settings: Settings, environ: Mapping[str, str]) -> Contents | None:
    """What settings and environment allow, read once; None when that is nothing."""
    if not (settings.span_query_text or settings.span_chunk_text):
        return Contents(document_ids=True) if settings.span_document_ids else None
    opened = environ.get(_CAPTURE, "").strip().upper() in _ON_SPANS
    if not opened:
        _logger.warning(
            "ragledger: span_query_text and span_chunk_text need %s=SPAN_ONLY or SPAN_AND_EVENT as well; "
            "spans carry no text",
            _CAPTURE,
        )
    return Contents(
        document_ids=settings.span_document_ids,
        query=opened and settings.span_query_text,
        mirror=opened and settings.span_query_text and not _any(_HIDES_INPUT, environ),
        chunks=opened and settings.span_chunk_text and not _any(_HIDES_CHUNKS, environ),
    )


def _any(names: Iterable[str], environ: Mapping[str, str]) -> bool:
    return any(environ.get(name, "").strip().lower() in {"1", "true"} for name in names)


def _admitted(record: SearchRecord) -> Iterator[tuple[int, str | None, float | None]]:
    """Rank, id and score of what the caller got, up to the cap."""
    told = 0
    for hit in record.hit_rows:
        if hit.admitted:
            yield hit.rank, hit.chunk_id, hit.score
            told += 1
            if told == MOST_DOCUMENTS:
                return
