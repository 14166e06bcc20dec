"""Records through the journal's encoding: what goes in comes out, and old journals stay readable."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from properties.records import anything_of

from ragledger.model import (
    AssessmentRecord,
    Candidate,
    DeliveryRecord,
    FeedbackRecord,
    HitRecord,
    Receipt,
    Record,
    SearchRecord,
    Text,
    TextsRecord,
    encode_record,
    holds_text,
)
from ragledger.postgres.rows import decode

KINDS: tuple[Any, ...] = (SearchRecord, DeliveryRecord, AssessmentRecord, FeedbackRecord, TextsRecord)

# Fields of the first release. They are positions in journals that are out there: append below a default, never move.
RELEASED = {
    HitRecord: "rank chunk_id chunk_id_source document_id source_kind score score_kind score_source vector_score "
    "lexical_score signals admitted content_key",
    SearchRecord: "search_id started_at project corpus surface session_id actor_kind actor_id framework retriever "
    "parent_id root_id depth attempt_of served_from status skip_reason error_type error_origin degraded "
    "degraded_reason vector_available latency_ms top_k candidate_count admitted_count top_candidate_score "
    "top_admitted_score weights epoch index_version embedding_model extractor_version signals query_key flags "
    "trace_id span_id sampled span_owner external_run_id hits",
    DeliveryRecord: "search_id delivery_id by hit_ranks scores delivered_at",
    AssessmentRecord: "search_id assessment_id name value method weights assessed_at",
    FeedbackRecord: "search_id feedback_id rank chunk_id stage outcome actor_kind actor_id given_at checked",
    Text: "rank text cut",
    TextsRecord: "search_id texts",
}
TAGS = {SearchRecord: "s", DeliveryRecord: "d", AssessmentRecord: "a", FeedbackRecord: "f", TextsRecord: "t"}


@given(anything_of(Record))
@settings(max_examples=300)
def test_p2_a_record_comes_back_as_it_was(record: Any):
    entry = decode(7, encode_record(record))
    assert entry.rejection is None
    assert entry.record == record
    assert type(entry.record) is type(record)


@given(anything_of(Record))
def test_p9_a_record_of_texts_is_told_from_every_other_by_its_first_bytes(record: Any):
    assert holds_text(encode_record(record)) == isinstance(record, TextsRecord)


def test_every_kind_of_record_is_one_that_is_drawn_and_read_back():
    assert set(get_args(Record)) == set(KINDS) == set(TAGS)


@pytest.mark.parametrize("kind", RELEASED, ids=lambda kind: kind.__name__)
def test_fields_are_only_ever_appended_with_a_default(kind: Any):
    released = tuple(RELEASED[kind].split())
    fields = kind.__struct_fields__
    assert fields[: len(released)] == released
    appended = len(fields) - len(released)
    assert len(kind.__struct_defaults__) >= appended
    assert kind.__struct_config__.array_like
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_tags_never_change(kind: Any):
    assert kind.__struct_config__.tag == TAGS[kind]


def _newer(kind: Any) -> Any:
    """The same record in a release that has learnt one more thing."""
    config = {"frozen": True, "array_like": True, "tag": TAGS.get(kind)}
    return msgspec.defstruct("Newer", [("learnt", str | None, None)], bases=(kind,), **config)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_old_record_is_read_by_a_newer_release_and_a_new_one_by_an_older(kind: Any):
    newer = _newer(kind)

    @given(anything_of(kind))
    @settings(max_examples=25)
    def check(record: Any) -> None:
        read = msgspec.msgpack.decode(encode_record(record), type=newer)
        assert read.learnt is None
        assert [getattr(read, name) for name in kind.__struct_fields__] == [
            getattr(record, name) for name in kind.__struct_fields__
        ]
        values = {name: getattr(record, name) for name in kind.__struct_fields__}
        written = encode_record(newer(**values, learnt="more"))
        assert msgspec.msgpack.decode(written, type=kind) == record

    check()


def test_an_old_hit_without_its_last_field_is_read():
    hit = HitRecord(1, "a", "framework", None, None, 0.5, "similarity", None, None, None, None, True, b"k")
    values = msgspec.msgpack.decode(encode_record(hit))
    assert msgspec.msgpack.decode(encode_record(values[:-1]), type=HitRecord).content_key is None
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(encode_record(values[:-2]), type=HitRecord)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("depth", -1), ("depth", 2**31), ("top_k", 2**31), ("started_at", -1), ("started_at", 253402300799_000001),
        ("status", "fine"), ("actor_kind", "robot"), ("project", None), ("error_origin", "moon"), ("search_id", b"short"),
        ("latency_ms", "fast"), ("flags", None), ("degraded", None),
    ],
)  # fmt: skip
def test_what_a_column_would_wrap_or_refuse_does_not_decode(field: str, value: Any):
    values = anything_of(SearchRecord)

    @given(values)
    @settings(max_examples=5)
    def check(record: Any) -> None:
        entry = decode(7, encode_record(msgspec.structs.replace(record, **{field: value})))
        assert (entry.record, entry.rejection) == (None, "undecodable")

    check()


@pytest.mark.parametrize("kind", [*RELEASED, Receipt, Candidate], ids=lambda kind: kind.__name__)
def test_values_are_frozen(kind: Any):
    assert kind.__struct_config__.frozen
