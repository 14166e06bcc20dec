"""Telling in the middle of long work: each interval, and never more than a tenth of the time."""

from __future__ import annotations

from ragledger.cli.pace import Pace


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_is_told_each_interval_and_less_often_where_telling_is_slow() -> None:
    clock, told = Clock(), list[float]()
    pace = Pace(15, clock)

    def tell() -> None:
        told.append(clock.now)
        clock.now += 1 if len(told) < 3 else 6

    for clock.now in range(200):
        pace.tell(tell)
    assert told == [15, 31, 47, 113, 179]
    clock.now = 300
    pace.begin()
    pace.tell(tell)
    assert len(told) == 5
    clock.now = 315
    pace.tell(tell)
    assert told[-1] == 315
