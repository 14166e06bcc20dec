"""When voters agree well enough for a hit to be judged."""

from __future__ import annotations

import pytest
from golden.world import QUICK
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.agreement import Agreed, Rule, agreed

grades = st.lists(st.integers(0, 3), max_size=9)
rules = st.builds(Rule, st.integers(1, 4), st.floats(0.5, 1.0), st.integers(1, 3))


@pytest.mark.parametrize(
    ("given_grades", "expected"),
    [
        ([2, 3], Agreed(2, 2, 1.0)),
        ([3, 3, 0, 2], Agreed(3, 4, 0.75)),
        ([0, 1, 1], Agreed(1, 3, 1.0)),
        ([0, 0, 1, 1], Agreed(0, 4, 1.0)),  # the lower median
        ([3], "too_few_votes"),
        ([], "too_few_votes"),
        ([3, 0], "tie"),
        ([2, 2, 1, 0], "tie"),
        ([2, 2, 0], "disagreement"),  # two thirds are less than 0.7
    ],
)
def test_what_two_votes_and_an_agreement_of_seventy_percent_say(
    given_grades: list[int], expected: object
) -> None:
    assert agreed(given_grades, Rule()) == expected


def test_the_cut_says_which_side_a_vote_is_on() -> None:
    assert agreed([1, 1, 0], Rule(2, 0.6, useful_from=2)) == Agreed(1, 3, 1.0)
    assert agreed([1, 1, 0], Rule(2, 0.6, useful_from=1)) == Agreed(1, 3, 2 / 3)


@QUICK
@given(grades, rules)
def test_the_order_of_the_votes_does_not_matter(votes: list[int], rule: Rule) -> None:
    assert agreed(votes, rule) == agreed(votes[::-1], rule) == agreed(sorted(votes), rule)


@QUICK
@given(grades, rules)
def test_the_grade_is_one_that_somebody_gave_and_on_the_side_of_most(votes: list[int], rule: Rule) -> None:
    verdict = agreed(votes, rule)
    if isinstance(verdict, Agreed):
        assert verdict.grade in votes
        side = [vote for vote in votes if (vote >= rule.useful_from) == (verdict.grade >= rule.useful_from)]
        assert verdict.agreement == len(side) / len(votes) > 0.5
        assert verdict.agreement >= rule.min_agreement


@QUICK
@given(grades, rules)
def test_another_useful_vote_never_makes_a_hit_less_useful(votes: list[int], rule: Rule) -> None:
    before, after = agreed(votes, rule), agreed([*votes, 3], rule)
    if isinstance(before, Agreed) and before.grade >= rule.useful_from:
        assert isinstance(after, Agreed)
        assert after.grade >= before.grade
