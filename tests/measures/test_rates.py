from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from ragledger.measures.rates import rate, rate_interval


def test_a_rate_of_nothing_is_unknown_and_not_zero() -> None:
    assert rate(0, 0) is None
    assert rate_interval(0, 0) is None
    assert rate(0, 4) == 0.0


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_rate_is_wilsons(counts: tuple[int, int]) -> None:
    found, expected = rate_interval(*counts), binomtest(*counts).proportion_ci(0.95, "wilson")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-9)
