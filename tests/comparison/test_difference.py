"""The difference of two precisions, within surfaces, and its interval."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from comparison.some_clusters import Row, clusters, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from ragledger.measures.difference import Actors, Difference, difference, difference_of_rates, sides
from ragledger.measures.interval import Sums, clustered


def test_a_difference_of_rates_is_newcombes() -> None:
    """The first example of Newcombe (1998), his method 10: 56 of 70 against 48 of 80."""
    assert difference_of_rates((48, 80), (56, 70)) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert difference_of_rates((1, 2), (0, 0)) is None


def test_on_one_surface_it_is_the_difference_of_ratios_between_two_clustered_intervals() -> None:
    a = [(1.0, 3), (0.0, 2), (2.0, 4), (1.0, 1), (0.0, 3)]
    b = [(3.0, 3), (1.0, 2), (2.0, 4), (0.0, 1)]
    found = difference(clusters([(side is b, 0, u, j) for side in (a, b) for u, j in side]))

    of_a, of_b = clustered(Sums.of(a)), clustered(Sums.of(b))
    assert found is not None
    assert of_a is not None
    assert of_b is not None
    p_a, p_b = 4 / 13, 6 / 10
    assert found.value == found.crude == pytest.approx(p_b - p_a, abs=1e-12)
    assert found.low == pytest.approx(p_b - p_a - math.hypot(p_b - of_b.low, of_a.high - p_a), abs=1e-12)
    assert found.high == pytest.approx(p_b - p_a + math.hypot(of_b.high - p_b, p_a - of_a.low), abs=1e-12)
    assert found.left_out == 0


@pytest.mark.parametrize(("of_a", "of_b"), [(1, 1), (1, 5), (5, 1), (2, 2), (5, 5)])
def test_p12_one_voters_opinion_has_no_interval(of_a: int, of_b: int) -> None:
    found = by_actors([n % voters for voters in (of_a, of_b) for n in range(60)], surfaces=1)

    assert found.actors == min(of_a, of_b)
    assert (found.low is None) == (found.high is None) == (found.clustered_by is None) == (found.actors == 1)


def test_p12_one_voters_opinion_on_each_surface_has_no_interval_either() -> None:
    one = by_actors([n % 5 for n in range(120)], surfaces=5)
    two = by_actors([n % 10 for n in range(120)], surfaces=5)

    assert (one.low, one.high, one.actors) == (None, None, 5)
    assert two.actors == 10
    assert two.low is not None


def by_actors(actor: list[int], surfaces: int) -> Difference:
    """Sixty searches on each side, on surfaces in turn, voted on by these."""
    drawn = clusters([(side, n % surfaces, float(n % 3), 2) for side in (False, True) for n in range(60)])
    who = Actors(
        of_b=drawn.of_b,
        surface=drawn.surface,
        actor=np.array(actor),
        useful=drawn.useful,
        judged=drawn.judged,
    )
    found = difference(replace(drawn, actors=who))
    assert found is not None
    return found


def test_surfaces_are_weighed_as_mantel_and_haenszel_do() -> None:
    found = difference(
        clusters(
            [(False, 0, 1.0, 4), (True, 0, 3.0, 4), (False, 1, 2.0, 2), (True, 1, 4.0, 6), (True, 1, 1.0, 6)]
        )
    )
    # 4 * 4 / 8 = 2 for the first surface, 2 * 12 / 14 = 12/7 for the second.
    expected = (2 * (3 / 4 - 1 / 4) + 12 / 7 * (5 / 12 - 1)) / (2 + 12 / 7)

    assert found is not None
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.crude == pytest.approx(8 / 16 - 3 / 6, abs=1e-12)


def test_a_shift_between_surfaces_is_not_taken_for_a_change() -> None:
    """Half of what one surface shows is useful, all of the other; B is asked on the better one more often."""
    rows = [(False, 0, 2.0, 4)] * 30 + [(False, 1, 4.0, 4)] * 10
    rows += [(True, 0, 2.0, 4)] * 10 + [(True, 1, 4.0, 4)] * 30
    found = difference(clusters(rows))

    assert found is not None
    assert found.value == pytest.approx(0.0, abs=1e-12)
    assert found.crude == pytest.approx(0.25, abs=1e-12)
    assert found.low is not None
    assert found.low < 0


def test_what_lies_on_a_surface_of_one_side_alone_is_left_out_and_counted() -> None:
    both = [(False, 0, 1.0, 4), (False, 0, 2.0, 4), (True, 0, 3.0, 4), (True, 0, 2.0, 4)]
    with_more, without = difference(clusters([*both, (True, 1, 0.0, 5)])), difference(clusters(both))

    assert with_more is not None
    assert without is not None
    assert (with_more.value, with_more.low, with_more.high) == pytest.approx(
        (without.value, without.low, without.high), abs=1e-12
    )
    assert (with_more.left_out, without.left_out) == (5, 0)


def test_p8_without_votes_on_both_sides_there_is_no_difference() -> None:
    assert difference(clusters([])) is None
    assert difference(clusters([(False, 0, 1.0, 2)])) is None
    assert difference(clusters([(False, 0, 1.0, 2), (True, 1, 1.0, 2)])) is None


def test_p8_one_search_a_side_has_a_difference_and_no_interval() -> None:
    found = difference(clusters([(False, 0, 1.0, 2), (True, 0, 2.0, 2)]))

    assert found is not None
    assert (found.value, found.low, found.high) == (0.5, None, None)


@given(rows())
@settings(max_examples=25)
def test_swapping_a_and_b_mirrors_difference_and_interval(drawn: list[Row]) -> None:
    given_, swapped = difference(clusters(drawn)), difference(clusters(drawn).swapped())

    assert (given_ is None) == (swapped is None)
    if given_ is None or swapped is None:
        return
    assert swapped.value == pytest.approx(-given_.value, abs=1e-12)
    assert swapped.crude == pytest.approx(-given_.crude, abs=1e-12)
    assert swapped.left_out == given_.left_out
    assert (swapped.low is None) == (given_.low is None)
    if given_.low is not None and given_.high is not None:
        assert (swapped.low, swapped.high) == pytest.approx((-given_.high, -given_.low), abs=1e-9)
        assert -1.0 <= given_.low <= given_.value + 1e-12
        assert given_.value - 1e-12 <= given_.high <= 1.0


@given(rows(), st.data())
@settings(max_examples=25)
def test_one_more_useful_vote_on_b_never_makes_b_worse(drawn: list[Row], data: st.DataObject) -> None:
    raisable = [n for n, (of_b, _, useful, judged) in enumerate(drawn) if of_b and useful < judged]
    if not raisable:
        return
    chosen = data.draw(st.sampled_from(raisable))
    raised = [(s, h, u + (n == chosen), j) for n, (s, h, u, j) in enumerate(drawn)]
    before, after = difference(clusters(drawn)), difference(clusters(raised))

    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert after.value >= before.value - 1e-12


def test_each_side_is_told_with_its_counts() -> None:
    a, b = sides(clusters([(False, 0, 1.5, 4), (False, 1, 2.0, 2), (True, 0, 0.0, 3)]))

    assert (a.precision, a.useful, a.judged, a.searches) == (pytest.approx(3.5 / 6), 3.5, 6, 2)
    assert (b.precision, b.useful, b.judged, b.searches) == (0.0, 0.0, 3, 1)
    assert np.isscalar(a.useful)
