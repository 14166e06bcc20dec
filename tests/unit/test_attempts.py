"""What is remembered of failures: bounded by count and by age, never a text, and nothing where nothing fails."""

from __future__ import annotations

from typing import Any

import pytest
from unit.core import SECRET, World

from ragledger.attempts import Asked, Place
from ragledger.observation import Opening


class Asking(Opening, frozen=True, kw_only=True):
    given: Any

    def asked(self) -> Asked | None:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given  # type: ignore[no-any-return]


class Retriever:
    pass


class Slotted:
    __slots__ = ()


HERE, THERE = Place("here"), Place("there")
ONE = Retriever()


def search(world: World, given: Any, fault: Exception | None = None) -> Any:
    """One search; its row."""
    observation = world.ledger.recorder.open(Asking(framework="test", given=given))
    observation.fail(fault) if fault is not None else observation.finish(())
    return world.sink.searches[-1]


def remembered(world: World) -> dict[Any, Any]:
    return world.ledger.recorder.attempts.recent


def test_nothing_is_remembered_of_what_goes_well_or_is_cancelled(world: World) -> None:
    search(world, Asked(ONE, "q", (HERE,)))
    search(world, Asked(ONE, "q", (HERE,)), KeyboardInterrupt())  # type: ignore[arg-type]
    assert remembered(world) == {}
    assert search(world, Asked(ONE, "q", (HERE,))).attempt_of is None


def test_what_is_remembered_holds_no_text(world: World) -> None:
    search(world, Asked(ONE, SECRET, (HERE,)), ValueError(SECRET))
    assert len(remembered(world)) == 1
    assert SECRET not in repr(remembered(world))


def test_the_latest_failure_keeps_the_id_of_the_first(world: World) -> None:
    first = search(world, Asked(ONE, "q", (HERE,)), ValueError())
    second = search(world, Asked(ONE, "q", (HERE,)), ValueError())
    third = search(world, Asked(ONE, "q", (HERE,)))
    assert second.attempt_of == third.attempt_of == first.search_id
    assert [row.degraded_reason for row in (first, second, third)] == [None, None, "retry"]
    assert remembered(world) == {}


@pytest.mark.parametrize(
    ("later", "reason"),
    [
        (Asked(ONE, "q", (HERE,)), "retry"),
        (Asked(Retriever(), "q", (HERE,)), "fallback"),
        (Asked(Retriever(), "q", (HERE,), again=True), "retry"),
        (Asked(Slotted(), "q", (HERE,)), "fallback"),
        (Asked(ONE, "q", (THERE, HERE)), "retry"),
        (Asked(ONE, "other", (HERE,)), None),
        (Asked(ONE, "q", (THERE,)), None),
        (Asked(ONE, "q"), None),
        (None, None),
    ],
)
def test_same_place_same_input(world: World, later: Any, reason: str | None) -> None:
    first = search(world, Asked(ONE, "q", (HERE,)), ValueError())
    row = search(world, later)
    assert (row.attempt_of, row.degraded_reason) == (first.search_id if reason else None, reason)
    assert row.degraded is (reason is not None)


def test_within_one_turn_of_a_place_searches_are_not_attempts(world: World) -> None:
    first = search(world, Asked(ONE, "q", (Place("task", 1),)), ValueError())
    assert search(world, Asked(ONE, "q", (Place("task", 1),))).attempt_of is None
    assert search(world, Asked(ONE, "q", (Place("task", 2),))).attempt_of == first.search_id


def test_below_another_search_it_is_another_search(world: World) -> None:
    search(world, Asked(ONE, "q", (HERE,)), ValueError())
    with world.ledger.search():
        assert search(world, Asked(ONE, "q", (HERE,))).attempt_of is None
        failed = search(world, Asked(ONE, "q"), ValueError())
        assert search(world, Asked(ONE, "q")).attempt_of == failed.search_id


def test_after_ten_minutes_it_is_forgotten(world: World) -> None:
    search(world, Asked(ONE, "q", (HERE,)), ValueError())
    world.clock.forward(ms=9 * 60_000)
    search(world, Asked(ONE, "another", (HERE,)), ValueError())
    world.clock.forward(ms=2 * 60_000)
    assert search(world, Asked(ONE, "q", (HERE,))).attempt_of is None
    world.clock.forward(ms=11 * 60_000)
    search(world, None)
    assert remembered(world) == {}


def test_thousands_of_failures_keep_the_latest(world: World) -> None:
    for number in range(2000):
        last = search(world, Asked(ONE, str(number), (HERE,)), ValueError())
        assert len(remembered(world)) <= 512
    assert search(world, Asked(ONE, "0", (HERE,))).attempt_of is None
    assert search(world, Asked(ONE, "1999", (HERE,))).attempt_of == last.search_id


def test_p3_a_place_that_cannot_be_found_out_costs_the_link_and_is_counted(make_world: Any) -> None:
    world = make_world(strict=False)
    search(world, ValueError(SECRET), ValueError())
    search(world, Asked(ONE, "q", (HERE,)), ValueError())
    assert search(world, ValueError(SECRET)).status == "ok"
    assert world.faults == {"attempts": 2}


def test_p5_an_attempt_that_the_application_names(world: World) -> None:
    """Own code knows itself that it asks again."""
    with pytest.raises(ValueError, match="down"), world.ledger.search() as first:
        raise ValueError("down")
    with world.ledger.search(attempt_of=first.receipt.search_id) as second:
        second.candidates()
    row = world.sink.searches[-1]
    assert (row.attempt_of, row.degraded_reason) == (first.search_id, "retry")
