"""Ids: time-ordered, and fingerprints that say nothing without the key."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from uuid import UUID

import pytest

from ragledger.ids import fingerprint, new_id, time_of

KEY = b"k" * 32


def test_an_id_is_a_plain_uuid_that_says_when_it_was_made():
    before = time.time()
    found = new_id()
    after = time.time()
    assert type(found) is UUID
    assert found.version == 7
    made = time_of(found)
    assert made is not None
    assert before - 0.002 <= made.timestamp() <= after + 0.002


@pytest.mark.parametrize(
    ("search_id", "made"),
    [
        ("018bcfe5-6800-7000-8000-000000000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)),
        ("00000000-0000-7000-8000-000000000000", datetime(1970, 1, 1, tzinfo=timezone.utc)),
        ("ffffffff-ffff-7fff-bfff-ffffffffffff", None),
        ("018bcfe5-6800-4000-8000-000000000000", None),
        ("018bcfe5-6800-7000-0000-000000000000", None),
        ("00000000-0000-0000-0000-000000000000", None),
    ],
)
def test_only_a_uuid_of_version_7_has_a_time(search_id: str, made: datetime | None):
    assert time_of(UUID(search_id)) == made


def test_p9_a_fingerprint_is_equal_for_equal_texts_under_one_key():
    assert fingerprint("text", KEY) == fingerprint("text", KEY)
    assert len(fingerprint("text", KEY)) == 16
    others = {
        fingerprint("text", KEY),
        fingerprint("text ", KEY),
        fingerprint("text", b"K" * 32),
        fingerprint("", KEY),
    }
    assert len(others) == 4


def test_unpaired_surrogates_are_kept_apart():
    assert len({fingerprint(text, KEY) for text in ("\ud800", "\ud801", "?", "\\ud800")}) == 4
