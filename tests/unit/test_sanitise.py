"""What fits a column stays as it is; what does not is changed, and a flag says so."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pytest
import uuid_utils
from unit.core import DriverUUID

from ragledger import sanitise


class Raises:
    """Whatever is asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __float__(self) -> float:
        raise RuntimeError("float")

    def __int__(self) -> int:
        raise RuntimeError("int")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment]


class Words(str):
    """A driver's own kind of text."""

    __slots__ = ()


@pytest.mark.parametrize("value", [None, "", "plain", "Zürich ✓", "x" * 512, "é" * 512])
def test_good_text_is_kept_without_a_flag(value: str | None):
    flags: set[str] = set()
    assert sanitise.text(value, flags) == value
    assert flags == set()


@pytest.mark.parametrize(
    ("value", "expected", "flag"),
    [
        ("a\0b", "a\\u0000b", "sanitised_id"),
        ("\ud800", "\\ud800", "sanitised_id"),
        (Raises(), None, "unreadable_text"),
    ],
)
def test_d19_bad_text_is_changed_with_a_flag(value: Any, expected: str | None, flag: str):
    flags: set[str] = set()
    assert sanitise.text(value, flags) == expected
    assert flags == {flag}


def test_d15_other_values_become_plain_text_without_loss():
    flags: set[str] = set()
    assert sanitise.text(1034556054119387216, flags) == "1034556054119387216"
    assert sanitise.text(uuid.UUID(int=7), flags) == "00000000-0000-0000-0000-000000000007"
    assert type(sanitise.text(Words("a"), flags)) is str
    assert type(sanitise.text(np.str_("a"), flags)) is str
    assert flags == set()


@pytest.mark.parametrize(
    "long", ["x" * 513, "x" * 1_000_000, "\0" * 300, "é" * 600, "\ud800" * 600], ids=lambda text: text[:1]
)
def test_long_text_is_cut_and_two_that_begin_alike_stay_two(long: str):
    flags: set[str] = set()
    found = sanitise.text(long, flags)
    assert found is not None
    assert len(found) == 512
    assert found.encode()
    assert "\0" not in found
    assert flags == {"sanitised_id"}
    assert sanitise.text(long, set()) == found
    assert sanitise.text(long + "2", set()) != found
    assert sanitise.text(long + "2", set())[:400] == found[:400]  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (0.0, 0.0), (-1.5, -1.5), (1, 1.0), (np.float32(0.25), 0.25), ("0.5", 0.5), (True, 1.0)],
)
def test_p8_d11_d13_numbers_are_floats_and_a_zero_is_a_zero(value: Any, expected: float | None):
    flags: set[str] = set()
    found = sanitise.number(value, flags)
    assert found == expected
    assert found is None or type(found) is float
    assert flags == set()


@pytest.mark.parametrize(
    ("value", "flag"),
    [
        (float("nan"), "nonfinite_score"),
        (float("-inf"), "nonfinite_score"),
        (np.float64("nan"), "nonfinite_score"),
        ("nan", "nonfinite_score"),
        ("high", "unreadable_score"),
        (10**400, "unreadable_score"),  # larger than a float
        (np.array([1.0, 2.0]), "unreadable_score"),
        (1j, "unreadable_score"),
        (Raises(), "unreadable_score"),
    ],
)
def test_p8_what_is_no_number_is_unknown_and_not_zero(value: Any, flag: str):
    flags: set[str] = set()
    assert sanitise.number(value, flags) is None
    assert flags == {flag}


@pytest.mark.parametrize(
    ("value", "expected", "flag"),
    [
        (None, None, None),
        (0, 0, None),
        (10, 10, None),
        (np.int64(10), 10, None),
        ("10", 10, None),
        (2**31 - 1, 2**31 - 1, None),
        (2**31, None, "count_out_of_range"),
        (-1, None, "count_out_of_range"),
        (float("inf"), None, "unreadable_count"),
        ("many", None, "unreadable_count"),
        (Raises(), None, "unreadable_count"),
    ],
)
def test_counts_fit_their_column(value: Any, expected: int | None, flag: str | None):
    flags: set[str] = set()
    assert sanitise.count(value, flags) == expected
    assert flags == ({flag} if flag else set())


@pytest.mark.parametrize("value", ["somewhere", 3, ["framework"], Raises()])
def test_a_word_that_the_column_does_not_know_is_left_out(value: Any):
    flags: set[str] = set()
    assert sanitise.word("framework", {"framework"}, flags) == "framework"
    assert sanitise.word(None, {"framework"}, flags) is None
    assert flags == set()
    assert sanitise.word(value, {"framework"}, flags) is None
    assert flags == {"unknown_word"}


@pytest.mark.parametrize(
    ("value", "expected", "flag"),
    [
        (None, None, None),
        (True, True, None),
        (False, False, None),
        (np.bool_(False), False, None),
        (0, False, None),
        ("no", None, "unreadable_truth"),
        ("", None, "unreadable_truth"),
        (np.array([True, False]), None, "unreadable_truth"),
        (Raises(), None, "unreadable_truth"),
    ],
)
def test_p8_only_true_and_false_are_taken_for_a_truth(value: Any, expected: bool | None, flag: str | None):
    flags: set[str] = set()
    assert sanitise.truth(value, flags) is expected
    assert flags == ({flag} if flag else set())


@pytest.mark.parametrize(
    "value",
    [
        uuid.UUID(int=7),
        DriverUUID(int=7),
        uuid_utils.UUID(int=7),
        "00000000-0000-0000-0000-000000000007",
        "{00000000000000000000000000000007}",
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_form_of_an_id_becomes_a_plain_uuid(value: Any):
    flags: set[str] = set()
    found = sanitise.identifier(value, flags)
    assert found == uuid.UUID(int=7)
    assert type(found) is uuid.UUID
    assert flags == set()


@pytest.mark.parametrize("value", ["", "7", 7, b"7" * 16, Raises()], ids=lambda value: type(value).__name__)
def test_what_is_no_id_is_left_out(value: Any):
    flags: set[str] = set()
    assert sanitise.identifier(None, flags) is None
    assert flags == set()
    assert sanitise.identifier(value, flags) is None
    assert flags == {"unreadable_id"}
