"""Labels are dealt anew to whole searches within surfaces: exactly where that is few, else by a seed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from comparison.some_clusters import Row, clusters, rows
from hypothesis import assume, given, settings
from scipy import stats

from ragledger.measures.permutation import permuted


@given(rows(largest=9, surfaces=1))
@settings(max_examples=15)
def test_on_one_surface_the_exact_test_is_scipys(drawn: list[Row]) -> None:
    a, b = ([n for n, row in enumerate(drawn) if row[0] is side] for side in (False, True))
    assume(min(len(a), len(b)) > 1)  # scipy takes no sample of one
    useful, judged = (np.array([row[column] for row in drawn], dtype=float) for column in (2, 3))

    def statistic(one: np.ndarray, other: np.ndarray, axis: int = -1) -> np.ndarray:
        one, other = one.astype(int), other.astype(int)
        ratio_one = useful[one].sum(axis=axis) / judged[one].sum(axis=axis)
        return np.abs(useful[other].sum(axis=axis) / judged[other].sum(axis=axis) - ratio_one)

    theirs = stats.permutation_test(
        (np.array(a), np.array(b)), statistic, n_resamples=np.inf, alternative="greater", vectorized=True
    )
    ours = permuted(clusters(drawn))
    assert ours is not None
    assert ours.exact
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)


@given(rows(largest=9, surfaces=2))
@settings(max_examples=15)
def test_over_surfaces_the_exact_test_is_every_labelling_that_keeps_the_surfaces(drawn: list[Row]) -> None:
    expected = enumerated(drawn)
    found = permuted(clusters(drawn))

    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert (found.p, found.shuffles, found.exact) == (
            pytest.approx(expected[0], abs=1e-9),
            expected[1],
            True,
        )


def enumerated(drawn: list[Row]) -> tuple[float, int] | None:
    """In slow and obvious Python, with fractions."""
    surfaces = [[row for row in drawn if row[1] == number] for number in (0, 1)]
    surfaces = [some for some in surfaces if {row[0] for row in some} == {False, True}]
    if not surfaces:
        return None
    labellings = [
        [set(chosen) for chosen in itertools.combinations(range(len(some)), sum(row[0] for row in some))]
        for some in surfaces
    ]
    real = [{n for n, row in enumerate(some) if row[0]} for some in surfaces]
    observed = abs(value(surfaces, real))
    found = [abs(value(surfaces, list(labels))) >= observed for labels in itertools.product(*labellings)]
    return sum(found) / len(found), len(found)


def value(surfaces: list[list[Row]], of_b: list[set[int]]) -> Fraction:
    above = below = Fraction(0)
    for some, chosen in zip(surfaces, of_b, strict=True):
        sums = [
            [
                sum(Fraction(row[column]) for n, row in enumerate(some) if (n in chosen) is side)
                for column in (2, 3)
            ]
            for side in (False, True)
        ]
        (useful_a, judged_a), (useful_b, judged_b) = sums
        weight = judged_a * judged_b / (judged_a + judged_b)
        above += weight * (useful_b / judged_b - useful_a / judged_a)
        below += weight
    return above / below


@pytest.mark.parametrize("kind", ["alike", "all different"])
def test_shuffles_tell_what_every_labelling_tells(kind: str) -> None:
    """Searches of one type are dealt by number, those of many types one by one: both are the same distribution."""
    rng = np.random.default_rng(7)
    more = rng.random(16) if kind == "all different" else np.zeros(16)
    useful = np.array([0, 1, 0, 2, 1, 0, 1, 0, 2, 1, 2, 2, 1, 0, 2, 1]) + more
    drawn = [(n >= 8, 0, float(u), 3) for n, u in enumerate(useful)]
    exact = permuted(clusters(drawn), shuffles=math.comb(16, 8))
    sampled = permuted(clusters(drawn), shuffles=math.comb(16, 8) - 1)

    assert exact is not None
    assert sampled is not None
    assert (exact.exact, sampled.exact) == (True, False)
    assert sampled.p == pytest.approx(exact.p, abs=5 * math.sqrt(exact.p * (1 - exact.p) / sampled.shuffles))
    assert 0.01 < exact.p < 0.99


def test_labels_are_dealt_within_surfaces_only() -> None:
    """Within each surface all searches are alike: nothing can come out but what was seen, however surfaces differ."""
    drawn = [(side, 0, 0.0, 2) for side in (False,) * 20 + (True,) * 5]
    drawn += [(side, 1, 2.0, 2) for side in (False,) * 5 + (True,) * 20]
    found = permuted(clusters(drawn))

    assert found is not None
    assert found.p == 1.0


def test_a_surface_of_one_side_alone_takes_no_part() -> None:
    drawn = [(n % 2 == 0, 0, float(n % 3), 3) for n in range(8)]
    assert permuted(clusters([*drawn, (True, 1, 0.0, 9)])) == permuted(clusters(drawn))
    assert permuted(clusters([(False, 0, 1.0, 2), (True, 1, 1.0, 2)])) is None


@given(rows(smallest=16, largest=30, surfaces=2))
@settings(max_examples=10)
def test_swapping_a_and_b_gives_the_same_p(drawn: list[Row]) -> None:
    assert permuted(clusters(drawn), shuffles=200) == permuted(clusters(drawn).swapped(), shuffles=200)


def test_the_smallest_p_is_one_of_the_shuffles_and_never_zero() -> None:
    drawn = [(False, 0, 0.0, 3)] * 40 + [(True, 0, 3.0, 3)] * 40
    found = permuted(clusters(drawn), shuffles=500)

    assert found is not None
    assert found.p == pytest.approx(1 / 501)
    assert permuted(clusters(drawn), shuffles=500, seed=3) == found
