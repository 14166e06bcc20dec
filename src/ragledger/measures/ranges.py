"""From where to where a number may lie, as reports show it."""

from __future__ import annotations

from msgspec import Struct

from .interval import Interval

__all__ = ["Range", "range_of"]


class Range(Struct, frozen=True, kw_only=True):
    """From `low` to `high`."""

    low: float
    high: float


def range_of(found: Interval | tuple[float, float] | None) -> Range | None:
    """What an interval spans."""
    if found is None:
        return None
    low, high = (found.low, found.high) if isinstance(found, Interval) else found
    return Range(low=low, high=high)
