"""Constructed worlds: what is wrong with the retriever is known, and the votes must say it, or say that they cannot."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from ragledger.measures.diagnosis import TOP, ByActor, Finding, Split, diagnose
from ragledger.measures.interval import Sums

Chance = Callable[[int], float]


def world(
    useful: Chance, looked: Chance, searches: int, seed: int = 1, *, only_praise_below: bool = False
) -> Finding:
    """Searches of ten hits: the chance that the hit at a position is useful, and that somebody votes on it."""
    rng = random.Random(seed)
    splits = []
    for _ in range(searches):
        said = {}
        for position in range(1, 11):
            is_useful = rng.random() < useful(position)
            votes = rng.random() < looked(position)
            if votes and (is_useful or position <= TOP or not only_praise_below):
                said[position] = is_useful
        if said:
            splits.append(Split(tuple((position, int(is_useful)) for position, is_useful in said.items())))
    return diagnose(TOP * searches, (10 - TOP) * searches, splits)


def everywhere(_: int) -> float:
    return 0.5


def at_the_top_mostly(position: int) -> float:
    return 0.9 / position


@pytest.mark.parametrize("looked", [everywhere, at_the_top_mostly], ids=["all is read", "the top is read"])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_good_where_the_top_is_useful_and_the_rest_is_not(looked: Chance, seed: int) -> None:
    found = world(lambda position: 0.75 if position <= TOP else 0.2, looked, 300, seed)
    assert found.verdict == "order_is_good"


@pytest.mark.parametrize("looked", [everywhere, at_the_top_mostly], ids=["all is read", "the top is read"])
@pytest.mark.parametrize("seed", range(5))
def test_the_weights_are_wrong_where_the_right_chunk_is_at_rank_7(looked: Chance, seed: int) -> None:
    found = world(lambda position: 0.9 if position == 7 else 0.1, looked, 600, seed)
    assert (found.verdict, found.rank) == ("weights_are_wrong", 7)
    assert any("rank 7" in reason for reason in found.because)


@pytest.mark.parametrize("looked", [everywhere, at_the_top_mostly], ids=["all is read", "the top is read"])
@pytest.mark.parametrize("seed", range(5))
def test_the_index_is_poor_where_little_is_useful_anywhere(looked: Chance, seed: int) -> None:
    assert world(lambda _: 0.1, looked, 300, seed).verdict == "index_is_poor"


@pytest.mark.parametrize("seed", range(5))
def test_an_order_at_random_says_little(seed: int) -> None:
    assert world(lambda _: 0.5, everywhere, 300, seed).verdict == "order_says_little"


@pytest.mark.parametrize("seed", range(5))
def test_a_certain_difference_that_is_too_small_to_matter_blames_no_weights(seed: int) -> None:
    found = world(lambda position: 0.45 if position <= TOP else 0.49, everywhere, 5000, seed)
    assert found.verdict == "order_says_little"


@pytest.mark.parametrize("searches", [20, 30, 1000])
def test_where_all_that_was_judged_is_useful_the_order_is_good(searches: int) -> None:
    found = diagnose(3 * searches, 7 * searches, [Split(((1, 1), (5, 1)), searches)])
    assert (found.verdict, found.top.share) == ("order_is_good", 1.0)
    assert found.difference.interval is not None
    assert found.difference.interval.low < 0 < found.difference.interval.high


def test_equal_searches_do_not_make_a_range_without_width() -> None:
    found = diagnose(60, 140, [Split(((1, Fraction(1, 2)), (5, Fraction(1, 2))), 20)])
    assert found.verdict == "not_enough_votes"
    assert found.difference.interval is not None
    assert found.difference.interval.high - found.difference.interval.low > 0.2


def test_few_voters_are_the_first_reason_and_widen_the_range_at_the_top() -> None:
    splits = [Split(((1, 1), (2, 1), (5, 0)), 70), Split(((1, 0), (2, 1), (5, 0)), 30)]
    by_search = diagnose(300, 700, splits)
    of_three = Sums.of([(80.0, 80), (70.0, 70), (20.0, 50)])
    by_actor = diagnose(300, 700, splits, ByActor(of_three, of_three))
    alone = diagnose(300, 700, splits, ByActor(Sums.of([(170.0, 200)]), Sums.of([(170.0, 200)])))
    assert (by_search.actors, by_actor.actors, alone.actors) == (0, 3, 1)
    assert by_actor.because[0].startswith("only 3 voters")
    assert alone.because[0].startswith("one voter's opinion")
    assert by_actor.top.interval is not None
    assert by_search.top.interval is not None
    assert by_actor.top.interval.low < by_search.top.interval.low
    assert alone.top.interval == by_search.top.interval


def test_a_few_voters_who_differ_do_not_make_a_poor_index() -> None:
    splits = [Split(((1, 0), (5, 0)), 85), Split(((1, 1), (5, 1)), 15)]
    strict_and_mild = Sums.of([(0.0, 150), (30.0, 50)])
    assert diagnose(300, 700, splits).verdict == "index_is_poor"
    assert diagnose(300, 700, splits, ByActor(strict_and_mild, strict_and_mild)).verdict != "index_is_poor"


@pytest.mark.parametrize("useful", [lambda _: 0.9, lambda _: 0.1, everywhere], ids=["good", "poor", "even"])
def test_few_votes_say_nothing_whatever_they_are(useful: Chance) -> None:
    found = world(useful, lambda _: 0.1, 15)
    assert found.verdict == "not_enough_votes"
    assert "are the least" in found.because[0]


def test_no_vote_at_all_says_nothing_and_no_share_is_zero() -> None:
    found = diagnose(30, 70, [])
    assert found.verdict == "not_enough_votes"
    assert (found.top.share, found.below.share, found.difference.mean, found.rank) == (
        None,
        None,
        None,
        None,
    )


def test_a_useless_top_below_which_nobody_looked_is_neither_a_poor_index_nor_a_wrong_weight() -> None:
    found = world(
        lambda position: 0.9 if position == 7 else 0.1, lambda position: 0.5 * (position <= TOP), 300
    )
    assert found.verdict == "not_enough_votes"
    assert "what is further down is not known" in found.because[-1]


def test_position_bias_alone_moves_no_verdict_of_a_good_order() -> None:
    for steep in (0.5, 1.0, 2.0):
        found = world(lambda p: 0.8 if p <= TOP else 0.3, lambda p, steep=steep: 0.9 / p**steep, 500)  # type: ignore[misc]
        assert found.verdict == "order_is_good"


def test_when_hits_below_are_judged_much_less_often_the_reader_is_told() -> None:
    biased = world(lambda position: 0.75 if position <= TOP else 0.2, at_the_top_mostly, 300)
    fair = world(lambda position: 0.75 if position <= TOP else 0.2, everywhere, 300)
    assert (biased.seldom_below, fair.seldom_below) == (True, False)
    assert "judged much less often" in biased.because[-1]


def test_people_who_vote_below_only_to_praise_do_not_make_a_good_top_look_bad() -> None:
    found = world(lambda position: 0.7, at_the_top_mostly, 500, only_praise_below=True)
    assert found.verdict == "order_is_good"


def test_searches_that_were_judged_alike_may_be_given_once() -> None:
    splits = [Split(((1, 1), (2, 0), (8, 0))), Split(((1, 0), (7, 1)))]
    many = diagnose(300, 700, splits * 40)
    once = diagnose(300, 700, [split._replace(searches=40) for split in splits])
    assert many == once
