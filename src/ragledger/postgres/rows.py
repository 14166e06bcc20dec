"""Journal records as rows of the tables, in the form in which binary COPY sends them. Pure.

Binary COPY wraps a number that does not fit its column, so ranges are checked where records are decoded.

Half of the time of shipping went into dumpers written in Python (uuid, timestamptz, jsonb, text[]). So these columns are
given as the bytes or the number that the server reads, through the driver's dumpers of `bytea` and `int8`, which are C.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import astuple

from ragledger.model import (
    AssessmentRecord,
    DeliveryRecord,
    FeedbackRecord,
    HitRecord,
    Record,
    Returned,
    SearchRecord,
    TextsRecord,
    decode_record,
)

__all__ = ["TABLES", "Entry", "Table", "decode", "lines_of", "rows_of"]

_Row = tuple[Any, ...]


class Table(NamedTuple):
    """A COPY target: its name, and for each column of the query in `ship.sql` the dumper that its value is given to."""

    name: str
    types: tuple[str, ...]


_TYPES = {
    "hits": "uuid int4 text text text text float8 text text float8 float8 jsonb bool bytea",
    "searches": "uuid timestamptz text text text text text text text text uuid uuid int4 uuid uuid text text text text "
    "bool text bool float8 int4 int4 int4 float8 float8 jsonb text text text text jsonb bytea text[] "
    "bytea bytea bool text text uuid int8",
    "deliveries": "uuid uuid text int4[] float8[] timestamptz uuid int8",
    "assessments": "uuid uuid text float8 text jsonb timestamptz uuid int8",
    "feedback": "uuid uuid int4 text text text text timestamptz uuid int8",
    "pending_feedback": "uuid uuid int4 text text text text text timestamptz uuid int8",
    "search_texts": "uuid int4 text bool uuid int8",
    "rejected": "uuid int8 text text",
}
_GIVEN_AS = {"uuid": "bytea", "timestamptz": "int8", "jsonb": "bytea", "text[]": "bytea"}
TABLES = tuple(
    Table(name, tuple(_GIVEN_AS.get(kind, kind) for kind in types.split())) for name, types in _TYPES.items()
)
"""In the order in which they are filled: hits come before the votes on them, and before all else, since most of the
server's work is theirs, which it does while we make the rows that follow."""


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
            TextsRecord: "texts",
        }
        return names[type(self.record)] if self.record is not None else "unknown"

    @property
    def is_pending(self) -> bool:
        """A vote whose search has not been seen."""
        return isinstance(self.record, FeedbackRecord) and not self.record.checked

    @property
    def table(self) -> str:
        """Where its row goes; the hits of a search go to `hits` besides."""
        found = _TABLE_OF.get(type(self.record), "rejected") if self.rejection is None else "rejected"
        return "pending_feedback" if found == "feedback" and self.is_pending else found


def decode(number: int, body: bytes) -> Entry:
    """A record, its types and ranges checked; what does not decode is rejected as `undecodable`."""
    try:
        return Entry(number, decode_record(body))
    except (msgspec.MsgspecError, ValueError):
        return Entry(number, None, "undecodable")


def rows_of(table: str, writer: UUID, entries: Iterable[Entry]) -> Iterator[_Row]:
    """The rows of a table, made one by one while they are sent. The entries are those that have rows there."""
    if table == "hits":
        return _hits(entries)
    writer_id = writer.bytes
    if table == "search_texts":
        return _texts(writer_id, entries)
    if table == "rejected":
        return ((writer_id, entry.number, entry.kind, entry.rejection or "unreadable") for entry in entries)
    make = _ROW[table]
    return (make(writer_id, entry.number, entry.record) for entry in entries)


def lines_of(table: str, entry: Entry) -> int:
    """How many rows of the table are of this entry."""
    if table == "hits":
        return len(entry.record.hits) if entry.table == "searches" else 0  # type: ignore[union-attr]
    if table == "search_texts":
        return len(entry.record.texts) if entry.table == table else 0  # type: ignore[union-attr]
    return int(entry.table == table)


def _texts(writer: bytes, entries: Iterable[Entry]) -> Iterator[_Row]:
    for entry in entries:
        record: Any = entry.record
        for text in record.texts:
            yield (record.search_id.bytes, text.rank, text.text, text.cut, writer, entry.number)


def _hits(entries: Iterable[Entry]) -> Iterator[_Row]:
    for entry in entries:
        record: Any = entry.record
        search_id = record.search_id.bytes
        if isinstance(record.hits, Returned):
            yield from record.hits.rows(search_id)
            continue
        for hit in record.hits:
            columns = astuple(hit)
            if hit.signals is not None:
                columns = (*columns[:_HIT_SIGNALS], _json(hit.signals), *columns[_HIT_SIGNALS + 1 :])
            yield (search_id, *columns)


def _search(writer: bytes, number: int, record: SearchRecord) -> _Row:
    values: list[Any] = list(astuple(record))
    for index in _SEARCH_IDS:
        if (value := values[index]) is not None:
            values[index] = value.bytes
    values[_STARTED_AT] = _time(record.started_at)
    values[_WEIGHTS] = _raw_json(record.weights)
    values[_SIGNALS] = _json(record.signals)
    values[_FLAGS] = _text_array(record.flags)
    del values[_HITS]
    return (*values, writer, number)


def _delivery(writer: bytes, number: int, record: DeliveryRecord) -> _Row:
    scores = list(record.scores) if record.scores is not None else None
    ids = (record.search_id.bytes, record.delivery_id.bytes)
    return (*ids, record.by, list(record.hit_ranks), scores, _time(record.delivered_at), writer, number)


def _assessment(writer: bytes, number: int, record: AssessmentRecord) -> _Row:
    weights = _raw_json(record.weights) if record.weights is not None else None
    said = (record.name, record.value, record.method, weights, _time(record.assessed_at))
    return (record.search_id.bytes, record.assessment_id.bytes, *said, writer, number)


def _vote(writer: bytes, number: int, record: FeedbackRecord) -> _Row:
    said = (record.stage, record.outcome, record.actor_kind, record.actor_id, _time(record.given_at))
    hit = (record.rank,) if record.checked else (record.rank, record.chunk_id)
    return (record.search_id.bytes, record.feedback_id.bytes, *hit, *said, writer, number)


def _raw_json(text: str) -> bytes:
    return b"\x01" + text.encode()


def _json(value: Any) -> bytes | None:
    return b"\x01" + msgspec.json.encode(value) if value is not None else None


def _time(micros: int) -> int:
    return micros - _POSTGRES_EPOCH


@lru_cache(maxsize=256)
def _text_array(values: tuple[str, ...]) -> bytes:
    """An array as the server reads it: dimensions, nulls, type of the elements; length and lower bound; elements."""
    if not values:
        return struct.pack(">3i", 0, 0, _TEXT)
    encoded = [value.encode() for value in values]
    parts = [struct.pack(">5i", 1, 0, _TEXT, len(encoded), 1)]
    parts += [struct.pack(">i", len(value)) + value for value in encoded]
    return b"".join(parts)


_POSTGRES_EPOCH = 946_684_800_000_000  # 2000-01-01 in microseconds since 1970
_TEXT = 25  # the oid of the type, fixed in every PostgreSQL
_TABLE_OF: dict[type, str] = {
    SearchRecord: "searches",
    DeliveryRecord: "deliveries",
    AssessmentRecord: "assessments",
    FeedbackRecord: "feedback",
    TextsRecord: "search_texts",
}
_ROW: dict[str, Callable[[bytes, int, Any], _Row]] = {
    "searches": _search,
    "deliveries": _delivery,
    "assessments": _assessment,
    "feedback": _vote,
    "pending_feedback": _vote,
}
_FIELDS = SearchRecord.__struct_fields__
_SEARCH_IDS = tuple(
    _FIELDS.index(name) for name in ("search_id", "parent_id", "root_id", "attempt_of", "served_from")
)
_STARTED_AT = _FIELDS.index("started_at")
_WEIGHTS = _FIELDS.index("weights")
_SIGNALS = _FIELDS.index("signals")
_FLAGS = _FIELDS.index("flags")
_HITS = _FIELDS.index("hits")
_HIT_SIGNALS = HitRecord.__struct_fields__.index("signals")
