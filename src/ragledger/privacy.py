"""The levels of privacy: which ids of a record are kept, and how.

Text is kept at level `ids` alone, and only where it is switched on (`texts.py`): a `TextsRecord` never comes here.

`ids`: as they are. `keyed`: as keyed hashes, `k:` and 32 hex digits, the same on every host with the same key.
`structure`: none; hits are known by their rank.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec.structs import replace

from .errors import MalformedReference
from .ids import fingerprint
from .model import FeedbackRecord, HitRecord, Record, Returned, SearchRecord

__all__ = ["WITHHELD", "Level", "Privacy"]

Level: TypeAlias = Literal["structure", "keyed", "ids"]

WITHHELD = "withheld"
"""In the place of a session at level `structure`: that there was one is no secret, which one is."""

_KEYED = re.compile(r"k:[0-9a-f]{32}")


class Privacy:
    """One level with its key. `veils` says whether it changes anything at all."""

    def __init__(self, level: Level, key: bytes) -> None:
        self.level = level
        self.veils = level != "ids"
        self._key = key

    def kept(self, given: str | None) -> str | None:
        """An id as it is kept. One that is keyed already stays, so that what was read from the table can be asked for."""
        if given is None or self.level == "ids":
            return given
        if self.level == "structure":
            return None
        return given if _KEYED.fullmatch(given) else f"k:{fingerprint(given, self._key).hex()}"

    def kept_for_vote(self, chunk_id: str | None) -> str | None:
        """The id of a hit that a vote names.

        Raises:
            MalformedReference: no ids are kept at this level.
        """
        if chunk_id is not None and self.level == "structure":
            raise MalformedReference("ids are not kept at privacy level structure: vote with rank=")
        return self.kept(chunk_id)

    def of(self, record: Record) -> Record:
        """The record as it is kept."""
        if isinstance(record, SearchRecord):
            return self.of_search(record)
        if isinstance(record, FeedbackRecord):
            return replace(record, chunk_id=self.kept(record.chunk_id), actor_id=self.kept(record.actor_id))
        return record

    def of_search(self, record: SearchRecord) -> SearchRecord:
        """A search and its hits as they are kept."""
        if self.level == "ids":
            return record
        anonymous = self.level == "structure"
        session_id = record.session_id
        return replace(
            record,
            session_id=WITHHELD if anonymous and session_id is not None else self.kept(session_id),
            actor_id=self.kept(record.actor_id),
            external_run_id=self.kept(record.external_run_id),
            query_key=None if anonymous else record.query_key,
            trace_id=None if anonymous else record.trace_id,
            span_id=None if anonymous else record.span_id,
            hits=self._hits(record.hits),
        )

    def _hits(self, hits: tuple[HitRecord, ...] | Returned) -> tuple[HitRecord, ...]:
        rows = hits.hits() if isinstance(hits, Returned) else hits
        if self.level == "keyed":
            return tuple(
                replace(hit, chunk_id=self.kept(hit.chunk_id), document_id=self.kept(hit.document_id))
                for hit in rows
            )
        return tuple(
            replace(hit, chunk_id=None, chunk_id_source=None, document_id=None, content_key=None)
            for hit in rows
        )
