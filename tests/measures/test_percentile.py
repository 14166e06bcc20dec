from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.percentile import nearest_rank, smallest_sample

values = st.lists(st.floats(0, 1e6), min_size=1, max_size=150)


def test_a_percentile_is_a_measured_value_never_one_between_two() -> None:
    assert nearest_rank([1.0, 2.0, 3.0, 4.0], 50) == 2.0
    assert nearest_rank([10.0], 50) == 10.0


@pytest.mark.parametrize(("percent", "needed"), [(25, 1), (50, 1), (90, 10), (95, 20), (99, 100)])
def test_a_high_percentile_needs_a_sample_that_reaches_above_it(percent: int, needed: int) -> None:
    assert smallest_sample(percent) == needed
    assert nearest_rank([1.0] * (needed - 1), percent) is None
    assert nearest_rank([1.0] * needed, percent) == 1.0


def test_p95_of_twenty_is_the_nineteenth() -> None:
    assert nearest_rank(range(1, 21), 95) == 19


@pytest.mark.parametrize("percent", [0, 100, -5])
def test_what_is_no_percentile_is_refused(percent: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 99"):
        nearest_rank([1.0], percent)


@given(values, st.integers(1, 99))
def test_exactly_enough_values_are_at_or_below_it(numbers: list[float], percent: int) -> None:
    found = nearest_rank(numbers, percent)
    if found is None:
        assert len(numbers) < smallest_sample(percent)
        return
    share = Fraction(percent, 100)
    assert found in numbers
    assert sum(number <= found for number in numbers) >= share * len(numbers)
    assert sum(number < found for number in numbers) < share * len(numbers)
