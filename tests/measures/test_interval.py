"""The clustered interval: known values, and what may never happen to it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ragledger.measures.interval import ICC, Sums, clustered, wilson

clusters = st.lists(
    st.integers(1, 5).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged))),
    min_size=2,
    max_size=40,
)


def test_wilson_is_scipys() -> None:
    for useful, n in ((0, 5), (3, 5), (30, 50), (500, 500), (299, 500)):
        theirs = stats.binomtest(useful, n).proportion_ci(0.95, method="wilson")
        assert wilson(useful / n, n, stats.norm.ppf(0.975)) == pytest.approx(
            (theirs.low, theirs.high), abs=1e-12
        )


def test_the_observed_design_effect_is_the_linearised_ratios() -> None:
    said = [(2.0, 3), (0.0, 1), (4.0, 5), (1.0, 4), (2.0, 2), (0.0, 3), (3.0, 3), (1.0, 2)]
    useful, judged = sum(u for u, _ in said), sum(j for _, j in said)
    p = useful / judged
    errors = [u - p * j for u, j in said]
    clusters_n = len(said)
    variance = clusters_n / (clusters_n - 1) * math.fsum(e * e for e in errors) / judged**2
    observed = variance / (p * (1 - p) / judged)
    rarer = min(useful, judged - useful)
    assumed = 1 + (sum(j * j for _, j in said) / judged - 1) * ICC
    expected = rarer / (rarer + 1) * observed + 1 / (rarer + 1) * assumed

    found = clustered(Sums.of(said))

    assert found is not None
    assert found.design_effect == pytest.approx(expected, rel=1e-12)
    assert found.n_effective == pytest.approx(judged / expected, rel=1e-12)
    assert (found.low, found.high) == pytest.approx(
        wilson(p, judged / expected, stats.t.ppf(0.975, clusters_n - 1)), rel=1e-9
    )


def test_p8_one_search_or_none_has_no_interval() -> None:
    assert clustered(Sums.of([])) is None
    assert clustered(Sums.of([(2.0, 5)])) is None
    assert clustered(Sums.of([(2.0, 5), (0.0, 0), (0.0, 0)])) is None


def test_where_all_votes_agree_the_correlation_is_assumed() -> None:
    found = clustered(Sums.of([(3.0, 3)] * 10))

    assert found is not None
    assert found.design_effect == pytest.approx(1 + 2 * ICC)
    assert found.high == 1.0
    assert 0.7 < found.low < 0.8


@given(said=clusters)
def test_the_interval_holds_the_share_and_stays_within_0_and_1(said: list[tuple[int, int]]) -> None:
    found = clustered(Sums.of(said))
    share = sum(u for u, _ in said) / sum(j for _, j in said)

    assert found is not None
    assert 0.0 <= found.low <= share + 1e-12
    assert share - 1e-12 <= found.high <= 1.0
    assert found.low < found.high


@given(said=clusters)
def test_the_interval_of_what_was_not_useful_is_its_mirror(said: list[tuple[int, int]]) -> None:
    found, mirrored = clustered(Sums.of(said)), clustered(Sums.of((j - u, j) for u, j in said))

    assert found is not None
    assert mirrored is not None
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)


@given(said=clusters)
def test_the_same_searches_four_times_over_say_it_more_exactly(said: list[tuple[int, int]]) -> None:
    once, more = clustered(Sums.of(said)), clustered(Sums.of(said * 4))

    assert once is not None
    assert more is not None
    assert more.high - more.low < once.high - once.low
