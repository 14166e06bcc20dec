"""Journal records as rows of the tables, typed for binary COPY. Pure.

Binary COPY wraps a number that does not fit its column, so ranges are checked where records are decoded.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import astuple
from psycopg.types.json import JsonbBinaryDumper

from ragledger.model import (
    AssessmentRecord,
    DeliveryRecord,
    FeedbackRecord,
    HitRecord,
    Record,
    SearchRecord,
)

__all__ = ["TABLES", "Entry", "RawJsonb", "RawJsonbDumper", "Table", "decode", "rows_of"]

_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(
    SearchRecord | DeliveryRecord | AssessmentRecord | FeedbackRecord
)


class RawJsonb(str):
    """JSON text, ready for a jsonb column."""

    __slots__ = ()


class RawJsonbDumper(JsonbBinaryDumper):
    """Sends JSON text as it is: psycopg would encode it once more."""

    def dump(self, obj: Any) -> bytes:
        """Version byte 1, then the text."""
        return b"\x01" + str(obj).encode()


class Table(NamedTuple):
    """A COPY target: the query of `ship.sql` and the column types in its order."""

    name: str
    types: tuple[str, ...]


_TYPES = {
    "searches": "uuid timestamptz text text text text text text text text uuid uuid int4 uuid uuid text text text text "
    "bool text bool float8 int4 int4 int4 float8 float8 jsonb text text text text jsonb bytea text[] "
    "bytea bytea bool text text uuid int8",
    "hits": "uuid int4 text text text text float8 text text float8 float8 jsonb bool bytea",
    "deliveries": "uuid uuid text int4[] float8[] timestamptz uuid int8",
    "assessments": "uuid uuid text float8 text jsonb timestamptz uuid int8",
    "feedback": "uuid uuid int4 text text text text timestamptz uuid int8",
    "pending_feedback": "uuid uuid int4 text text text text text timestamptz uuid int8",
    "rejected": "uuid int8 text text",
}
TABLES = tuple(Table(name, tuple(types.split())) for name, types in _TYPES.items())
"""In the order in which they must be filled: a hit's search comes before it."""


class Entry(NamedTuple):
    """A numbered record; `rejection` is the reason why it can never land."""

    number: int
    record: Record | None
    rejection: str | None = None

    @property
    def kind(self) -> str:
        """What it is, for the `rejected` table."""
        names = {
            SearchRecord: "search",
            DeliveryRecord: "delivery",
            AssessmentRecord: "assessment",
            FeedbackRecord: "feedback",
        }
        return names[type(self.record)] if self.record is not None else "unknown"

    @property
    def is_pending(self) -> bool:
        """A vote whose search has not been seen."""
        return isinstance(self.record, FeedbackRecord) and not self.record.checked


def decode(number: int, body: bytes) -> Entry:
    """A record, its types and ranges checked; what does not decode is rejected as `undecodable`."""
    try:
        return Entry(number, _decoder.decode(body))
    except (msgspec.MsgspecError, ValueError):
        return Entry(number, None, "undecodable")


def rows_of(writer: UUID, entry: Entry) -> list[tuple[str, tuple[Any, ...]]]:
    """The rows of one entry, each with the table that it goes to."""
    record, number = entry.record, entry.number
    if entry.rejection is not None or record is None:
        return [("rejected", (writer, number, entry.kind, entry.rejection or "unreadable"))]
    if isinstance(record, SearchRecord):
        return _search_rows(writer, number, record)
    if isinstance(record, FeedbackRecord):
        return [_feedback_row(writer, number, record)]
    if isinstance(record, DeliveryRecord):
        when = _time(record.delivered_at)
        scores = list(record.scores) if record.scores is not None else None
        row = (record.search_id, record.delivery_id, record.by, list(record.hit_ranks), scores, when)
        return [("deliveries", (*row, writer, number))]
    weights = RawJsonb(record.weights) if record.weights is not None else None
    return [
        (
            "assessments",
            (
                record.search_id,
                record.assessment_id,
                record.name,
                record.value,
                record.method,
                weights,
                _time(record.assessed_at),
                writer,
                number,
            ),
        )
    ]


def _search_rows(writer: UUID, number: int, record: SearchRecord) -> list[tuple[str, tuple[Any, ...]]]:
    values = list(astuple(record))
    del values[_HITS]
    values[_STARTED_AT] = _time(record.started_at)
    values[_WEIGHTS] = RawJsonb(record.weights)
    values[_SIGNALS] = _json(record.signals)
    values[_FLAGS] = list(record.flags)
    rows: list[tuple[str, tuple[Any, ...]]] = [("searches", (*values, writer, number))]
    for hit in record.hit_rows:
        columns = astuple(hit)
        if hit.signals is not None:
            columns = (*columns[:_HIT_SIGNALS], _json(hit.signals), *columns[_HIT_SIGNALS + 1 :])
        rows.append(("hits", (record.search_id, *columns)))
    return rows


def _feedback_row(writer: UUID, number: int, record: FeedbackRecord) -> tuple[str, tuple[Any, ...]]:
    said = (
        record.stage,
        record.outcome,
        record.actor_kind,
        record.actor_id,
        _time(record.given_at),
        writer,
        number,
    )
    if record.checked:
        return "feedback", (record.search_id, record.feedback_id, record.rank, *said)
    return "pending_feedback", (record.search_id, record.feedback_id, record.rank, record.chunk_id, *said)


def _json(value: Any) -> RawJsonb | None:
    return RawJsonb(msgspec.json.encode(value).decode()) if value is not None else None


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, tz=timezone.utc)


_HITS = SearchRecord.__struct_fields__.index("hits")
_STARTED_AT = SearchRecord.__struct_fields__.index("started_at")
_WEIGHTS = SearchRecord.__struct_fields__.index("weights")
_SIGNALS = SearchRecord.__struct_fields__.index("signals")
_FLAGS = SearchRecord.__struct_fields__.index("flags")
_HIT_SIGNALS = HitRecord.__struct_fields__.index("signals")
