"""Constructed assessments: one that is the truth, one that only ranks, noise, and a liar."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ragledger.measures.facts import AssessedFact
from ragledger.measures.worth import Worth, worth


def world(value_of: Callable[[float, random.Random], float], searches: int = 600, seed: int = 1) -> Worth:
    """Searches whose hits are useful with a chance of their own, and what an assessment says of that chance."""
    rng = random.Random(seed)
    facts = []
    for number in range(searches):
        chance = rng.random()
        judged = rng.randint(1, 3)
        useful = sum(rng.random() < chance for _ in range(judged))
        facts.append(
            AssessedFact("a", None, "e", "human", number // 2, value_of(chance, rng), float(useful), judged)
        )
    return worth(facts)


def test_the_chance_itself_is_calibrated() -> None:
    """In 19 of 20 worlds: all five ranges hold in 95 of 100."""
    found = [world(lambda chance, _: chance, 1000, seed) for seed in range(20)]
    assert [one.verdict for one in found].count("calibrated") >= 17
    for one in found:
        assert one.brier is not None
        assert one.brier_of_the_mean is not None
        assert one.brier < one.brier_of_the_mean


@pytest.mark.parametrize("value_of", [lambda chance, _: chance**4, lambda chance, _: 10 * chance - 3])
def test_what_rises_with_it_ranks_and_is_no_probability(
    value_of: Callable[[float, random.Random], float],
) -> None:
    assert world(value_of).verdict == "ranks"


@pytest.mark.parametrize(("too_high", "searches"), [(0.2, 60), (0.1, 100)])
def test_values_that_are_too_high_are_not_called_calibrated_because_votes_are_few(
    too_high: float, searches: int
) -> None:
    found = [
        world(lambda chance, _: min(chance + too_high, 1.0), searches, seed).verdict for seed in range(40)
    ]
    assert "calibrated" not in found
    assert "ranks_at_least" in found


def test_noise_does_not_predict() -> None:
    """An interval of 95 % leaves out the truth in one of 20 worlds, so in 5 of 20 at most, with room."""
    found = [world(lambda _, rng: rng.random(), seed=seed).verdict for seed in range(20)]
    assert found.count("does_not_predict") >= 15


def test_what_falls_as_votes_rise_predicts_backwards() -> None:
    assert world(lambda chance, _: 1 - chance).verdict == "predicts_backwards"


def test_few_votes_say_nothing_even_of_the_truth() -> None:
    assert world(lambda chance, _: chance, searches=30).verdict == "not_enough_votes"
    assert worth([]).verdict == "not_enough_votes"
    assert (worth([]).auc, worth([]).brier) == (None, None)


def test_values_outside_of_0_and_1_have_no_brier_score() -> None:
    found = world(lambda chance, _: 10 * chance)
    assert (found.brier, found.brier_of_the_mean, found.groups) == (None, None, ())


def test_a_search_is_useful_when_at_least_half_of_what_was_judged_at_the_top_is() -> None:
    facts = [
        AssessedFact("a", None, "e", "human", n, 0.5, useful, 2) for n, useful in enumerate((0.5, 1.0, 2.0))
    ]
    assert (worth(facts).searches, worth(facts).useful) == (3, 2)
