from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score

from ragledger.measures.auc import Case, auc, auc_interval

cases = st.lists(
    st.builds(Case, st.sampled_from([0.0, 0.25, 0.5, 1.0, 7.0]), st.booleans(), st.integers(1, 6)),
    max_size=30,
)


@given(cases.filter(lambda found: len({case.positive for case in found}) == 2))
def test_the_area_is_that_of_sklearn_and_the_mann_whitney_statistic_ties_included(found: list[Case]) -> None:
    area = auc(found)
    assert area == pytest.approx(
        roc_auc_score([c.positive for c in found], [c.value for c in found]), abs=1e-9
    )
    highs = [case.value for case in found if case.positive]
    lows = [case.value for case in found if not case.positive]
    assert area == pytest.approx(mannwhitneyu(highs, lows).statistic / (len(highs) * len(lows)), abs=1e-9)


@given(cases)
def test_it_is_null_without_a_case_of_each_kind_and_its_interval_holds_it(found: list[Case]) -> None:
    area, interval = auc(found), auc_interval(found)
    if area is None:
        assert len({case.positive for case in found}) < 2
        assert interval is None
    elif interval is not None:
        assert 0.0 <= interval[0] <= area + 1e-9
        assert area - 1e-9 <= interval[1] <= 1.0


@given(cases)
def test_the_other_way_round_is_the_mirror(found: list[Case]) -> None:
    mirrored = [case._replace(positive=not case.positive) for case in found]
    area, other = auc(found), auc(mirrored)
    assert (area is None) == (other is None)
    assert area is None or other is None or area + other == pytest.approx(1.0)


def test_without_clusters_the_variance_is_delongs() -> None:
    """Its interval leads back to the variance: n = AUC (1 - AUC) / variance. By numpy, from the definition."""
    import numpy as np

    rng = np.random.default_rng(5)
    highs, lows = rng.normal(1, 1, 40), rng.normal(0, 1, 60)
    found = [Case(v, True, n) for n, v in enumerate(highs)] + [
        Case(v, False, 100 + n) for n, v in enumerate(lows)
    ]
    wins = highs[:, None] > lows[None, :]
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 60
    area = wins.mean()
    interval = auc_interval(found)
    assert interval is not None
    from ragledger.measures.interval import wilson
    from ragledger.measures.student import t_quantile

    assert interval == pytest.approx(
        wilson(area, area * (1 - area) / variance, t_quantile(0.975, 39)), abs=1e-9
    )


def test_the_same_cases_several_times_over_in_their_clusters_say_no_more() -> None:
    rng = random.Random(9)
    once = [Case(rng.gauss(n % 2, 1), n % 2 == 1, n) for n in range(60)]
    one, five = auc_interval(once), auc_interval(once * 5)
    apart = auc_interval([case._replace(cluster=n) for n, case in enumerate(once * 5)])
    assert one is not None
    assert five == pytest.approx(one, abs=1e-9)
    assert apart is not None
    assert apart[1] - apart[0] < 0.6 * (one[1] - one[0])


def test_a_value_that_tells_all_apart_is_not_certain_from_a_few_cases() -> None:
    found = [Case(float(n), n >= 3, n) for n in range(6)]
    interval = auc_interval(found)
    assert auc(found) == 1.0
    assert interval is not None
    assert interval[0] < 0.5


def test_the_interval_holds_the_area_about_as_often_as_it_says() -> None:
    """300 worlds of 40 sessions with related searches; the area of two normals one apart is 0.7602."""
    rng = random.Random(21)
    held = 0
    for _ in range(300):
        found = []
        for session in range(40):
            mood = rng.gauss(0, 0.7)
            for _ in range(3):
                positive = rng.random() < 0.5
                found.append(Case(positive + mood + rng.gauss(0, (1 - 0.49) ** 0.5), positive, session))
        interval = auc_interval(found)
        assert interval is not None
        held += interval[0] <= 0.7602 <= interval[1]
    assert held / 300 >= 0.91
