from __future__ import annotations

import numpy as np
import pytest
from calibration.some_pairs import random_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import comb

from ragledger.measures.crossfit import cross_fitted, fit, ratio_t, resampled, spread
from ragledger.measures.decision import decide, needed
from ragledger.measures.findings import normalised
from ragledger.measures.pairs import ordered, pairs_of
from ragledger.measures.simplex import _PARTS, MOST_SIGNALS, around, lattice


@pytest.mark.parametrize("signals", range(2, MOST_SIGNALS + 1))
def test_the_lattice_is_the_whole_simplex_evenly(signals: int) -> None:
    points = lattice(signals)
    assert len(points) == comb(_PARTS[signals] + signals - 1, signals - 1, exact=True)
    assert len(np.unique(points, axis=0)) == len(points)
    assert points.min() == 0.0
    assert points.max() == 1.0
    assert points.sum(axis=1) == pytest.approx(1.0)


def test_points_drawn_together_stay_weights() -> None:
    drawn = around(lattice(3), np.array([0.98, 0.02, 0.0]))
    assert drawn.min() >= 0.0
    assert drawn.sum(axis=1) == pytest.approx(1.0)
    assert np.ptp(drawn[:, 1]) == pytest.approx(0.25)


@pytest.mark.parametrize("best", [(0.2, 0.8), (0.5, 0.5), (0.85, 0.15)])
def test_the_weights_that_voters_have_are_found_whatever_ran(best: tuple[float, float]) -> None:
    found = [fit(random_pairs(seed, *best, questions=200)).estimate[0] for seed in range(3)]
    assert np.mean(found) == pytest.approx(best[0], abs=0.04)


def test_three_signals_are_found_as_two_are() -> None:
    found = [
        fit(random_pairs(seed, 0.5, 0.3, 0.2, running=(1.0, 0.0, 0.0), questions=400)) for seed in range(4)
    ]
    assert np.mean([one.estimate for one in found], axis=0) == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_a_sharp_optimum_is_looked_at_closely() -> None:
    chance = np.random.default_rng(2)
    gaps = chance.normal(0, 1, (20_000, 2))
    gaps = np.where((gaps @ [0.333, 0.667] > 0)[:, None], gaps, -gaps)
    pairs = pairs_of(gaps, np.repeat(np.arange(2_000), 10), np.zeros(len(gaps)))
    assert fit(pairs).estimate[0] == pytest.approx(0.333, abs=0.004)


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), factor=st.floats(0.001, 1000))
def test_the_scale_of_a_signal_changes_nothing_but_its_weight(seed: int, factor: float) -> None:
    pairs = random_pairs(seed, 0.4, 0.6, questions=60)
    other = pairs._replace(gaps=pairs.gaps * [factor, 1.0])
    scaled = [one._replace(gaps=one.gaps / one.gaps.std(axis=0)) for one in (pairs, other)]
    first, second = (fit(one).estimate for one in scaled)
    assert second == pytest.approx(first, abs=1e-6)
    assert ordered(other.gaps, np.array([0.3 / factor, 0.7])) == pytest.approx(
        ordered(pairs.gaps, np.array([0.3, 0.7]))
    )


def test_a_bad_running_weight_is_beaten_on_questions_that_were_not_fitted_on() -> None:
    gain = cross_fitted(random_pairs(1, 0.4, 0.6, running=(1.0, 0.0)), seed=7)
    assert gain.low > 0.05
    assert decide(gain) == "recommend"


def test_the_best_running_weight_is_kept() -> None:
    found = [decide(cross_fitted(random_pairs(seed, 0.5, 0.5, running=(0.5, 0.5)), 7)) for seed in range(12)]
    assert found.count("recommend") <= 2


def test_weights_that_order_everything_alike_gain_nothing_for_certain() -> None:
    gaps = np.abs(np.random.default_rng(3).normal(1, 0.1, (300, 2)))
    pairs = pairs_of(gaps, np.repeat(np.arange(100), 3), ordered(gaps, np.array([0.9, 0.1])))
    assert cross_fitted(pairs, 7) == (0.0, 0.0, 0.0, 0.0)
    assert decide(cross_fitted(pairs, 7)) == "keep"
    assert fit(pairs).flat.all()
    assert fit(pairs).estimate == pytest.approx([0.5, 0.5])


def test_the_same_votes_and_seed_give_the_same_answer() -> None:
    pairs = random_pairs(4, 0.5, 0.5)
    assert cross_fitted(pairs, 7) == cross_fitted(pairs, 7)
    assert cross_fitted(pairs, 7) != cross_fitted(pairs, 8)


def test_the_interval_is_that_of_a_ratio_with_students_t() -> None:
    above, below = np.array([1.0, 0.0, -1.0, 2.0]), np.array([2.0, 1.0, 3.0, 4.0])
    gain = ratio_t(above, below)
    errors = above - 0.2 * below
    expected = np.sqrt(4 / 3 * (errors**2).sum()) / 10
    assert gain.value == pytest.approx(0.2)
    assert gain.error == pytest.approx(expected)
    assert (gain.high - gain.low) / 2 == pytest.approx(stats.t.ppf(0.975, 3) * expected, abs=1e-9)


def test_questions_are_the_unit_repeating_one_is_no_news() -> None:
    pairs = random_pairs(5, 0.4, 0.6, questions=40)
    twice = pairs._replace(
        gaps=np.repeat(pairs.gaps, 5, axis=0),
        query=np.repeat(pairs.query, 5),
        running=np.repeat(pairs.running, 5),
    )
    assert cross_fitted(twice, 7) == pytest.approx(cross_fitted(pairs, 7))


def test_resamples_scatter_as_new_votes_would() -> None:
    found = [fit(random_pairs(seed, 0.5, 0.5)) for seed in range(20)]
    real = np.std([one.estimate[0] for one in found])
    drawn = resampled(len(found[0].total), 100, 7)
    said = [spread(one, drawn, np.ones(2)).deviation[0] for one in found[:3]]
    assert np.mean(said) == pytest.approx(real, rel=0.5)


def test_more_questions_are_asked_for_where_the_interval_is_too_wide() -> None:
    gain = ratio_t(np.array([1.0, 0.0, -1.0, 2.0] * 10), np.array([2.0, 1.0, 3.0, 4.0] * 10))
    assert decide(gain) == "recommend"
    wide = gain._replace(value=0.02, low=-0.03, high=0.07, error=0.025)
    assert decide(wide) == "collect"
    wanted = needed(wide, questions=100, votes=900)
    both = stats.t.ppf(0.975, 99) + stats.norm.ppf(0.8)
    assert wanted.questions == int(np.ceil(100 * ((both * 0.025 / 0.02) ** 2 - 1)))
    assert wanted.votes == wanted.questions * 9
    assert decide(gain._replace(value=-0.01, low=-0.03, high=0.01)) == "keep"


def test_weights_have_a_sum_of_one() -> None:
    assert normalised(np.array([1.0, 3.0])).tolist() == [0.25, 0.75]
