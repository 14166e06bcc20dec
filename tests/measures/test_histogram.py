"""The histogram of latencies: mergeable, and never more than 1 % off."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.histogram import bin_of, middle_ms, percentile_ms
from ragledger.measures.percentile import nearest_rank

latencies = st.floats(0.001, 1e9)


@given(latencies)
def test_a_bin_is_at_most_one_percent_from_what_fell_into_it(latency_ms: float) -> None:
    assert middle_ms(bin_of(latency_ms)) == pytest.approx(latency_ms, rel=0.01)


@given(st.lists(latencies, min_size=1, max_size=300), st.sampled_from([50, 95, 99]), st.integers(0, 300))
def test_a_percentile_of_merged_histograms_is_at_most_one_percent_off(
    values: list[float], percent: int, cut: int
) -> None:
    merged = Counter(map(bin_of, values[:cut])) + Counter(map(bin_of, values[cut:]))
    found, exact = percentile_ms(merged, percent), nearest_rank(values, percent)
    assert found == (None if exact is None else pytest.approx(exact, rel=0.01))


@given(st.floats(0), st.floats(0))
def test_bins_keep_the_order(one: float, other: float) -> None:
    assert (bin_of(one) <= bin_of(other)) or one > other


def test_what_is_no_time_is_at_the_end() -> None:
    assert bin_of(float("nan")) == bin_of(float("inf")) == bin_of(1e300)
    assert (bin_of(0.0), bin_of(127e-6), bin_of(128e-6), bin_of(129.9e-6)) == (0, 127, 128, 129)
