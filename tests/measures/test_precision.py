from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures.some_facts import ballot, vote

from ragledger.measures.ballots import ballots
from ragledger.measures.facts import VotesFact
from ragledger.measures.interval import Sums
from ragledger.measures.precision import CUTS, bounds, judged_share, precision, sums_of

people = st.integers(1, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
places = st.dictionaries(st.integers(1, 12), people, max_size=6)
searches = st.lists(places, max_size=5)
cuts = st.sampled_from(CUTS)


def facts(found: list[dict[int, tuple[int, int]]]) -> list[VotesFact]:
    return [
        ballot("e", *(vote(position, useful, n) for position, (useful, n) in said.items())) for said in found
    ]


def sums(found: list[VotesFact], k: int) -> Sums:
    return sums_of((*one.figures.within(k), fact.n) for fact in found for one in ballots(fact.hits or ()))


def at(found: list[dict[int, tuple[int, int]]], k: int) -> float | None:
    return precision(sums(facts(found), k))


def test_one_hit_of_two_judged_useful_is_one_half() -> None:
    said = [{1: (1, 1), 2: (0, 1)}]
    assert [at(said, k) for k in (1, 3)] == [1.0, 0.5]


def test_votes_at_1_7_and_9_give_the_pooled_value_and_neither_of_its_two_cousins() -> None:
    """measurement.md 4.1: condensed P@3 is 0.67 and condensed P@10 0.2 on the same votes."""
    said = [{1: (0, 1), 7: (1, 1), 9: (1, 1)}]
    assert at(said, 3) == 0.0
    assert at(said, 10) == pytest.approx(2 / 3)


def test_two_voters_on_one_hit_make_it_half_useful_and_count_it_once() -> None:
    found = sums(facts([{1: (1, 2)}]), 1)
    assert (found.judged, found.useful, precision(found)) == (1, 0.5, 0.5)


def test_ten_thirds_add_up_exactly() -> None:
    assert sums_of([(Fraction(1, 3), 1, 30)]).useful == 10.0
    assert sums_of([(Fraction(1, 3), 1, 1)] * 30).useful == 10.0


def test_searches_that_were_judged_alike_count_as_often_as_they_are() -> None:
    assert sums_of([(1, 2, 3)]) == sums_of([(1, 2, 1)] * 3) == Sums.of([(1, 2)] * 3)


def test_the_judged_share_of_nothing_shown_is_unknown() -> None:
    assert judged_share(0, 0) is None
    assert judged_share(0, 4) == 0.0


def test_bounds_are_what_the_unjudged_hits_leave_open() -> None:
    assert bounds(sums_of([(1, 2, 1)]), 4) == (0.25, 0.75)
    assert bounds(sums_of([]), 4) is None
    assert bounds(sums_of([(1, 2, 1)]), 2) == (0.5, 0.5)


@given(searches, cuts)
def test_null_stays_null_while_nothing_within_the_cut_is_judged(found: list[Any], k: int) -> None:
    outside = [{position: said for position, said in one.items() if position > k} for one in found]
    assert at(outside, k) is None
    assert at([], k) is None


@given(searches, cuts)
def test_precision_lies_between_0_and_1_and_between_its_bounds(found: list[Any], k: int) -> None:
    counted = sums(facts(found), k)
    value, between = precision(counted), bounds(counted, k * len(found))
    assert 0 <= counted.useful <= counted.judged
    if value is not None:
        assert between is not None
        assert 0.0 <= between[0] <= value <= between[1] + 1e-12


@given(searches, cuts, people)
def test_a_hit_beyond_the_cut_or_not_delivered_changes_nothing(
    found: list[Any], k: int, said: tuple[int, int]
) -> None:
    for position in (None, k + 1):
        more = [*facts(found), ballot("e", vote(position, *said))]
        assert precision(sums(more, k)) == at(found, k)


@given(searches.filter(any), cuts, st.data())
def test_a_newly_judged_hit_of_the_same_search_moves_precision_only_towards_its_vote(
    found: list[dict[int, tuple[int, int]]], k: int, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(found) - 1))
    free = [position for position in range(1, 13) if position not in found[index]]
    position = data.draw(st.sampled_from(free))
    useful, useless = ([*found], [*found])
    useful[index], useless[index] = {**found[index], position: (1, 1)}, {**found[index], position: (0, 1)}
    before = at(found, k)
    if before is None:
        assert (at(useful, k), at(useless, k)) in {(1.0, 0.0), (None, None)}
    else:
        assert_ordered(at(useless, k), before, at(useful, k))


@given(searches.filter(any), cuts, st.data())
def test_one_more_actor_or_a_changed_mind_moves_precision_only_towards_their_vote(
    found: list[dict[int, tuple[int, int]]], k: int, data: st.DataObject
) -> None:
    index = data.draw(st.sampled_from([n for n, one in enumerate(found) if one]))
    position = data.draw(st.sampled_from(sorted(found[index])))
    useful, n = found[index][position]

    def with_vote(useful: int, n: int) -> list[dict[int, tuple[int, int]]]:
        return [
            {**one, position: (useful, n)} if number == index else one for number, one in enumerate(found)
        ]

    assert_ordered(at(with_vote(useful, n + 1), k), at(found, k), at(with_vote(useful + 1, n + 1), k))
    assert_ordered(
        at(with_vote(max(useful - 1, 0), n), k), at(found, k), at(with_vote(min(useful + 1, n), n), k)
    )


@given(searches, cuts, st.randoms(use_true_random=False))
def test_order_changes_no_digit(found: list[Any], k: int, random: Any) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    assert at(shuffled, k) == at(found, k)


def assert_ordered(low: float | None, middle: float | None, high: float | None) -> None:
    if middle is None:
        assert low is None
        assert high is None
    else:
        assert low is not None
        assert high is not None
        assert low <= middle <= high
