from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.ranks import last_rank, spread


def test_sums_stand_at_their_position_and_the_rest_is_one_sum() -> None:
    assert spread([(1, 2), (3, 1), (3, 1), (4, 5), (9, 7)], 0, top=3) == [2, 0, 2, 12]


def test_what_was_not_delivered_stands_nowhere() -> None:
    assert spread([(None, 4)], 0, top=2) == [0, 0, 0]


def test_shares_add_up_exactly() -> None:
    assert spread([(1, Fraction(1, 3))] * 3, Fraction(0), top=1) == [1, 0]


def test_the_last_rank_is_the_lowest_one_where_anything_was_shown() -> None:
    assert last_rank([3, 0, 1, 0]) == 3
    assert last_rank([0, 0]) == 0


@given(st.lists(st.tuples(st.none() | st.integers(1, 30), st.integers(0, 5))), st.integers(1, 20))
def test_nothing_that_has_a_position_is_lost(placed: list[tuple[int | None, int]], top: int) -> None:
    assert sum(spread(placed, 0, top)) == sum(amount for position, amount in placed if position is not None)
