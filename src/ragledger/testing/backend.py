"""Records kept in memory, as a reader of the journal would decode them."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import msgspec

from ragledger.model import (
    AssessmentRecord,
    DeliveryRecord,
    FeedbackRecord,
    HitRecord,
    Record,
    SearchRecord,
    Votable,
    decode_record,
    encode_record,
)

__all__ = ["MemoryBackend"]


class MemoryBackend:
    """Implements `ports.Backend` and `ports.HitLookup`. What is kept is there at once, and stays after `close`.

    `refusal` makes it refuse what follows for that reason: `"cap"`, `"no_space"`, `"no_journal"`, `"no_database"`.
    A record passes through the journal's own encoding, so one that could not land fails here too.
    """

    def __init__(self, *, kept_as: Literal["journalled", "written"] = "journalled") -> None:
        self.kept_as: Literal["journalled", "written"] = kept_as
        self.records: list[Record] = []
        self.refusal: str | None = None
        self.refused: dict[str, int] = {}

    def put(self, record: Record) -> str | None:
        """Keeps the record, unless a test has it refused."""
        refusal = self.refusal
        if refusal is None:
            kept = decode_record(encode_record(record))
            if isinstance(kept, SearchRecord):
                kept = msgspec.structs.replace(kept, hits=kept.hit_rows)
            self.records.append(kept)  # one step under the GIL: no lock
        else:
            self.refused[refusal] = self.refused.get(refusal, 0) + 1
        return refusal

    def drain(self, timeout_s: float) -> bool:
        """True: there is nothing to wait for."""
        return True

    def close(self, timeout_s: float) -> None:
        """Keeps what was recorded, for a test to look at."""

    def after_fork(self) -> None:
        """Nothing: no thread, no lock and no file to lose."""

    def facts(self) -> dict[str, Any]:
        """Counters, under the names that every backend has."""
        kept = len(self.records)
        return {
            "journal": None,
            "attempted": kept,
            "published": kept,
            "shipped": kept,
            "refused": dict(self.refused),
            "shipper": {"running": False, "landed": kept, "rejected": 0, "last_error": None},
        }

    def find(self, search_id: UUID) -> Votable | None:
        """The admitted hits of a search, as the table would be asked."""
        for search in self.searches:
            if search.search_id == search_id:
                return tuple([(hit.rank, hit.chunk_id) for hit in search.hit_rows if hit.admitted])
        return None

    @property
    def searches(self) -> list[SearchRecord]:
        """The rows of `searches`, in the order in which the searches ended."""
        return [record for record in self.records if isinstance(record, SearchRecord)]

    @property
    def row(self) -> SearchRecord:
        """The only search. Fails when there is none or more than one."""
        [row] = self.searches
        return row

    @property
    def hits(self) -> tuple[HitRecord, ...]:
        """The rows of `hits`, of every search."""
        return tuple(hit for search in self.searches for hit in search.hit_rows)

    @property
    def votes(self) -> list[FeedbackRecord]:
        """The rows of `feedback` and of `pending_feedback`."""
        return [record for record in self.records if isinstance(record, FeedbackRecord)]

    @property
    def deliveries(self) -> list[DeliveryRecord]:
        """The rows of `deliveries`."""
        return [record for record in self.records if isinstance(record, DeliveryRecord)]

    @property
    def assessments(self) -> list[AssessmentRecord]:
        """The rows of `assessments`."""
        return [record for record in self.records if isinstance(record, AssessmentRecord)]
