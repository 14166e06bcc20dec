from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.precision import (
    CUTS,
    Judged,
    judged_hits,
    judged_share,
    precision,
    usefulness,
    within,
)


@st.composite
def hits(draw: st.DrawFn) -> Judged:
    actors = draw(st.integers(1, 4))
    useful_votes = draw(st.integers(0, actors))
    position = draw(st.none() | st.integers(1, 12))
    return Judged(position=position, actors=actors, useful_votes=useful_votes)


votes = st.lists(hits(), max_size=12)
cuts = st.sampled_from(CUTS)


def test_one_hit_of_two_judged_useful_is_one_half() -> None:
    judged = [
        Judged(position=1, actors=1, useful_votes=1),
        Judged(position=2, actors=1, useful_votes=0),
    ]
    assert [precision(judged, k) for k in (1, 3)] == [1.0, 0.5]


def test_votes_at_1_7_and_9_give_the_pooled_value_and_neither_of_its_two_cousins() -> None:
    """measurement.md 4.1: condensed P@3 is 0.67 and condensed P@10 0.2 on the same votes."""
    judged = [
        Judged(position=1, actors=1, useful_votes=0),
        Judged(position=7, actors=1, useful_votes=1),
        Judged(position=9, actors=1, useful_votes=1),
    ]
    assert precision(judged, 3) == 0.0
    assert precision(judged, 10) == pytest.approx(2 / 3)


def test_two_voters_on_one_hit_make_it_half_useful_and_count_it_once() -> None:
    judged = [Judged(position=1, actors=2, useful_votes=1)]
    assert (judged_hits(judged), usefulness(judged), precision(judged, 1)) == (1, 0.5, 0.5)


def test_ten_thirds_add_up_exactly() -> None:
    judged = [Judged(position=1, actors=3, useful_votes=1)] * 30
    assert float(usefulness(judged)) == 10.0


def test_the_judged_share_of_nothing_shown_is_unknown() -> None:
    assert judged_share(0, 0) is None
    assert judged_share(0, 4) == 0.0


@given(votes, cuts)
def test_null_stays_null_while_nothing_within_the_cut_is_judged(judged: list[Judged], k: int) -> None:
    outside = [one for one in judged if one not in within(judged, k)]
    assert precision(outside, k) is None
    assert precision([], k) is None


@given(votes, cuts)
def test_precision_lies_between_0_and_1_and_between_its_bounds(judged: list[Judged], k: int) -> None:
    found = precision(judged, k)
    assert found is None or 0.0 <= found <= 1.0
    counted = within(judged, k)
    assert 0 <= usefulness(counted) <= judged_hits(counted)


@given(votes, cuts, hits())
def test_a_hit_beyond_the_cut_or_not_delivered_changes_nothing(
    judged: list[Judged], k: int, other: Judged
) -> None:
    for position in (None, k + 1):
        assert precision([*judged, replace(other, position=position)], k) == precision(judged, k)


@given(votes, cuts, st.integers(1, 10))
def test_a_newly_judged_hit_moves_precision_only_towards_its_vote(
    judged: list[Judged], k: int, position: int
) -> None:
    before = precision(judged, k)
    useful = precision([*judged, Judged(position=position, actors=1, useful_votes=1)], k)
    not_useful = precision([*judged, Judged(position=position, actors=1, useful_votes=0)], k)
    if before is None:
        assert (useful, not_useful) in {(1.0, 0.0), (None, None)}
    else:
        assert useful is not None
        assert not_useful is not None
        assert not_useful <= before <= useful


@given(votes.filter(bool), cuts, st.data())
def test_one_more_actor_moves_precision_only_towards_their_vote(
    judged: list[Judged], k: int, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(judged) - 1))
    voted = judged[index]
    useful, not_useful = list(judged), list(judged)
    useful[index] = replace(voted, actors=voted.actors + 1, useful_votes=voted.useful_votes + 1)
    not_useful[index] = replace(voted, actors=voted.actors + 1)
    assert_ordered(precision(not_useful, k), precision(judged, k), precision(useful, k))


@given(votes.filter(bool), cuts, st.data())
def test_a_changed_mind_moves_precision_only_towards_it(
    judged: list[Judged], k: int, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(judged) - 1))
    better, worse = list(judged), list(judged)
    better[index] = replace(
        judged[index], useful_votes=min(judged[index].useful_votes + 1, judged[index].actors)
    )
    worse[index] = replace(judged[index], useful_votes=max(judged[index].useful_votes - 1, 0))
    assert_ordered(precision(worse, k), precision(judged, k), precision(better, k))


@given(votes, cuts, st.randoms(use_true_random=False))
def test_neither_order_nor_grouping_changes_a_digit(judged: list[Judged], k: int, random: object) -> None:
    def alike(one: Judged) -> tuple[int, int]:
        return (one.position or 0, one.actors)

    grouped = []
    for (position, actors), members in groupby(sorted(judged, key=alike), key=alike):
        group = list(members)
        useful_votes = sum(one.useful_votes for one in group)
        grouped.append(
            Judged(position=position or None, actors=actors, useful_votes=useful_votes, hits=len(group))
        )
    shuffled = list(judged)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert precision(grouped, k) == precision(judged, k) == precision(shuffled, k)


def assert_ordered(low: float | None, middle: float | None, high: float | None) -> None:
    if middle is None:
        assert low is None
        assert high is None
    else:
        assert low is not None
        assert high is not None
        assert low <= middle <= high
