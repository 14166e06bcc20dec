"""Percentiles by nearest rank: always a value that was measured, never one between two of them.

    the p-th percentile of n values = the value number ceil(n * p / 100) in ascending order

Definition 1 of Hyndman & Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), and
what Postgres' `percentile_disc` computes. Counting is in whole numbers, because `0.95 * n` may lie above the true
product. A high percentile of few values is only their maximum under another name, so it is not given.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["nearest_rank", "smallest_sample"]

_MEDIAN = 50
_ALL = 100


def smallest_sample(percent: int) -> int:
    """How many values a percentile needs: 20 for p95, 100 for p99, one for p50 and below.

    Above the median at least one value must be left above the percentile: n * (100 - percent) / 100 >= 1.
    """
    if not 0 < percent < _ALL:
        raise ValueError(f"a percentile lies between 1 and 99, got {percent}")
    return 1 if percent <= _MEDIAN else -(-_ALL // (_ALL - percent))


def nearest_rank(values: Iterable[float], percent: int) -> float | None:
    """The percentile, or None when there are too few values for it."""
    needed = smallest_sample(percent)
    ordered = sorted(values)
    if len(ordered) < needed:
        return None
    return ordered[-(-percent * len(ordered) // _ALL) - 1]
