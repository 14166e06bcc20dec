from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ragledger.cli.measure import verdict
from ragledger.cli.windows import moment
from ragledger.measures.report import VectorCounts

NOW = datetime(2026, 3, 8, 12, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("available", "unavailable", "unknown", "code"),
    [
        (0, 3, 0, 1),
        (0, 1, 9, 1),
        (1, 9, 0, 0),
        (5, 0, 0, 0),
        (0, 0, 7, 0),
        (0, 0, 0, 0),
    ],
)
def test_the_check_fails_for_one_thing_only(
    available: int, unavailable: int, unknown: int, code: int
) -> None:
    found, reason = verdict(VectorCounts(available=available, unavailable=unavailable, unknown=unknown))
    assert found == code
    assert (reason is not None) == bool(code)


def test_a_failed_check_says_that_only_the_lexical_half_was_measured() -> None:
    _, reason = verdict(VectorCounts(available=0, unavailable=3, unknown=1))
    assert reason is not None
    assert "(3)" in reason
    assert "lexical half only" in reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all", None),
        ("7d", NOW - timedelta(days=7)),
        ("24h", NOW - timedelta(hours=24)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=timezone.utc)),
        ("2026-03-01T10:30", datetime(2026, 3, 1, 10, 30, tzinfo=timezone.utc)),
        ("2026-03-01T10:30Z", datetime(2026, 3, 1, 10, 30, tzinfo=timezone.utc)),
        ("2026-03-01T10:30+05:30", datetime(2026, 3, 1, 5, 0, tzinfo=timezone.utc)),
    ],
)
def test_a_bound_is_an_age_a_date_a_time_or_no_bound_at_all(text: str, expected: datetime | None) -> None:
    assert moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d7", "-7d", "7y", "2026-13-01"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        moment(text, NOW)
