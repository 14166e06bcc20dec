"""The same questions on both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from comparison.some_clusters import clusters
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ragledger.measures.difference import difference
from ragledger.measures.paired import differences, paired, sign_flipped

gains = st.lists(st.sampled_from([-1.0, -0.5, -1 / 3, 0.0, 1 / 3, 0.5, 1.0]), min_size=2, max_size=8).map(
    np.array
)


def test_a_question_counts_once_and_only_with_votes_on_both_sides() -> None:
    question = np.array([0, 0, 0, 1, 1, 2, 3])
    of_b = np.array([False, False, True, False, True, False, True])
    useful = np.array([1.0, 0.0, 3.0, 2.0, 0.5, 1.0, 1.0])
    judged = np.array([2.0, 2.0, 4.0, 2.0, 1.0, 1.0, 1.0])

    assert differences(question, of_b, useful, judged).tolist() == [3 / 4 - 1 / 4, 0.5 - 1.0]


@given(gains)
@settings(max_examples=15)
def test_the_exact_sign_flips_are_scipys(drawn: np.ndarray) -> None:
    theirs = stats.permutation_test(
        (drawn,),
        lambda sample, axis=-1: np.abs(np.mean(sample, axis=axis)),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    ours = sign_flipped(drawn)

    assert ours is not None
    assert ours.exact
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)


@given(gains.filter(lambda drawn: np.ptp(drawn) > 0))
@settings(max_examples=25)
def test_the_interval_is_students(drawn: np.ndarray) -> None:
    theirs = stats.ttest_1samp(drawn, 0.0).confidence_interval(0.95)
    ours = paired(drawn)

    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((max(theirs.low, -1.0), min(theirs.high, 1.0)), abs=1e-9)
    assert ours.value == pytest.approx(float(np.mean(drawn)), abs=1e-12)


@given(gains)
@settings(max_examples=25)
def test_swapping_a_and_b_mirrors_everything(drawn: np.ndarray) -> None:
    ours, swapped = paired(drawn), paired(-drawn)

    assert ours is not None
    assert swapped is not None
    assert swapped.value == pytest.approx(-ours.value, abs=1e-12)
    assert (swapped.better, swapped.worse, swapped.questions) == (ours.worse, ours.better, ours.questions)
    assert (swapped.low is None) == (ours.low is None)
    if ours.low is not None and ours.high is not None:
        assert (swapped.low, swapped.high) == pytest.approx((-ours.high, -ours.low), abs=1e-12)
    assert sign_flipped(drawn) == sign_flipped(-drawn)


def test_signs_that_are_drawn_tell_what_all_of_them_tell() -> None:
    drawn = np.array([0.5, 0.5, 1.0, -0.5, 1 / 3, -1 / 3, 1.0, -1.0, 0.5, 1 / 3, 0.25, -0.25, 0.75, 1.0])
    exact, sampled = sign_flipped(drawn, shuffles=2**14), sign_flipped(drawn, shuffles=2**14 - 1)

    assert exact is not None
    assert sampled is not None
    assert (exact.exact, sampled.exact) == (True, False)
    assert sampled.p == pytest.approx(exact.p, abs=5 * math.sqrt(exact.p * (1 - exact.p) / sampled.shuffles))
    assert sign_flipped(drawn, shuffles=100) == sign_flipped(-drawn, shuffles=100)


def test_p8_no_question_is_no_difference_and_one_has_no_interval() -> None:
    assert paired(np.array([])) is None
    assert sign_flipped(np.array([])) is None
    alone = paired(np.array([0.25]))
    assert alone is not None
    assert (alone.value, alone.low, alone.high) == (0.25, None, None)


@pytest.mark.parametrize("gain", [-1.0, -0.25, 0.0, 1.0])
def test_where_every_question_changed_alike_the_interval_is_a_bound(gain: float) -> None:
    """The share of questions that change so is at least Clopper and Pearson's; the others may do anything."""
    surely = stats.binomtest(40, 40).proportion_ci(0.95, "exact").low
    agreed = paired(np.full(40, gain))

    assert agreed is not None
    low, high = surely * gain - (1 - surely), surely * gain + (1 - surely)
    assert agreed.value == gain
    assert (agreed.low, agreed.high) == pytest.approx((max(low, -1.0), min(high, 1.0)), abs=1e-12)


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_where_no_question_loses_paired_and_unpaired_agree_in_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, judged = 20, 4
    before = rng.integers(0, judged, n)
    after = np.minimum(before + rng.integers(0, 3, n), judged)
    rows = [(False, 0, float(u), judged) for u in before] + [(True, 0, float(u), judged) for u in after]
    question, of_b = np.tile(np.arange(n), 2), np.repeat([False, True], n)
    useful = np.concatenate([before, after]).astype(float)
    same = paired(differences(question, of_b, useful, np.full(2 * n, float(judged))))
    over_all = difference(clusters(rows))

    assert same is not None
    assert over_all is not None
    assert same.worse == 0
    assert same.value >= 0
    assert over_all.value == pytest.approx(
        same.value, abs=1e-12
    )  # every question has as many votes on both sides
