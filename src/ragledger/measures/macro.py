"""The mean over searches of a value between 0 and 1, such as each search's own precision: every search weighs the same.

    macro precision@k = the mean of U_s / J_s over the searches with a judged hit within k

Searches without a value are left out and counted. The interval is that of `interval.py` with one value per search: a
search is the unit here, so nothing is left to be clustered, and the sums say how much less a value between 0 and 1
varies than a yes or no would.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from .interval import Interval, Sums, clustered

__all__ = ["mean", "sums_of_means"]


def sums_of_means(values: Iterable[tuple[float, int]]) -> Sums:
    """Of (value, how many searches have it)."""
    found = list(values)
    searches = sum(count for _, count in found)
    useful = math.fsum(value * count for value, count in found)
    return Sums(
        clusters=searches,
        useful=useful,
        judged=searches,
        useful_sq=math.fsum(value * value * count for value, count in found),
        judged_sq=searches,
        useful_judged=useful,
    )


def mean(values: Iterable[tuple[float, int]]) -> tuple[float | None, int, Interval | None]:
    """The mean, the number of searches, the interval; None where there is no search, or only one for the interval."""
    sums = sums_of_means(values)
    if not sums.clusters:
        return None, 0, None
    return sums.useful / sums.clusters, sums.clusters, clustered(sums)
