"""How many votes are needed, what looking early costs, and several k at once: known values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.holm import holm
from ragledger.measures.peeking import error_of_looking
from ragledger.measures.power import votes_needed


@pytest.mark.parametrize(
    ("aim", "power", "votes"),
    [
        # Fleiss, Levin & Paik, table A.4 without their continuity correction, and measurement.md 4.2.
        ((0.6, 0.7), 0.8, 356),
        ((0.7, 0.6), 0.8, 356),
        ((0.6, 0.7), 0.9, 477),
        ((0.1, 0.2), 0.8, 199),
        ((0.5, 0.75), 0.8, 58),
    ],
)
def test_votes_needed_are_those_of_the_two_proportion_formula(
    aim: tuple[float, float], power: float, votes: int
) -> None:
    assert votes_needed(*aim, power=power) == votes


def test_votes_of_one_search_say_less() -> None:
    assert votes_needed(0.6, 0.7, design_effect=2.0) == 712


@pytest.mark.parametrize(
    "given_",
    [
        {"share_from": 0.6, "share_to": 0.6},
        {"share_from": 0.6, "share_to": 1.2},
        {"share_from": -0.1, "share_to": 0.2},
    ],
    ids=str,
)
def test_what_is_no_difference_cannot_be_planned(given_: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="two different shares"):
        votes_needed(**given_)


@pytest.mark.parametrize("given_", [{"power": 1.0}, {"power": 0.0}, {"alpha": 0.0}, {"alpha": 1.0}], ids=str)
def test_certainty_cannot_be_planned(given_: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="power and alpha"):
        votes_needed(0.6, 0.7, **given_)


@pytest.mark.parametrize(("looks", "error"), [(1, 0.05), (2, 0.083), (3, 0.107), (5, 0.142), (10, 0.193)])
def test_even_looks_cost_what_armitage_mcpherson_and_rowe_tabulate(looks: int, error: float) -> None:
    assert error_of_looking([n / looks for n in range(1, looks)]) == pytest.approx(error, abs=0.003)


def test_looks_at_the_end_cost_nothing_and_no_look_lowers_the_error() -> None:
    assert error_of_looking([1.0, 1.5]) == error_of_looking([])
    assert error_of_looking([0.0]) == error_of_looking([])
    assert error_of_looking([0.1, 0.5]) > error_of_looking([0.5]) > error_of_looking([])


def test_holm_is_rs_p_adjust() -> None:
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx((0.04, 0.06, 0.06, 0.06))
    assert holm([0.04, 0.001, 0.5, 0.02]) == pytest.approx((0.08, 0.004, 0.5, 0.06))
    assert holm([0.6, 0.9]) == pytest.approx((1.0, 1.0))


def test_p8_what_was_not_tested_is_not_counted() -> None:
    assert holm([None, 0.02, None, 0.01]) == (None, pytest.approx(0.02), None, pytest.approx(0.02))
    assert holm([]) == ()


@given(st.lists(st.none() | st.floats(0, 1), max_size=8))
def test_adjusting_never_lowers_a_p_and_keeps_their_order(values: list[float | None]) -> None:
    adjusted = holm(values)
    known = sorted((p, a) for p, a in zip(values, adjusted, strict=True) if p is not None and a is not None)

    assert all(p <= a <= 1.0 for p, a in known)
    assert [a for _, a in known] == sorted(a for _, a in known)
