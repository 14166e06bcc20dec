"""The interval of a mean of values between 0 and 1: neither too wide nor too short, and never without a width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.macro import mean

values = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), st.integers(1, 9)), min_size=1)


def test_values_that_vary_little_have_a_short_range() -> None:
    """100 values of 0.90 +- 0.02: Student's half width is 0.004."""
    _, _, found = mean([(0.88, 50), (0.92, 50)])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.896, 0.904), abs=0.004)


def test_values_that_are_all_equal_do_not_say_how_much_they_vary() -> None:
    for value in (0.0, 0.5, 1.0):
        found, searches, interval = mean([(value, 20)])
        assert (found, searches) == (value, 20)
        assert interval is not None
        assert interval.high - interval.low > 0.15


def test_p8_one_search_has_no_range_and_none_has_no_mean() -> None:
    assert mean([]) == (None, 0, None)
    assert mean([(0.5, 1)]) == (0.5, 1, None)


@given(values)
def test_the_range_holds_the_mean_and_its_mirror_is_that_of_the_mirrored_values(
    said: list[tuple[float, int]],
) -> None:
    found, searches, interval = mean(said)
    mirrored = mean((1 - value, n) for value, n in said)[2]
    if searches < 2:
        return
    assert found is not None
    assert interval is not None
    assert mirrored is not None
    assert 0.0 <= interval.low <= found + 1e-9
    assert found - 1e-9 <= interval.high <= 1.0
    assert interval.low < interval.high
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-9)
