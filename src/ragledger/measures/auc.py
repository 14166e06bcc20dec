"""Whether a value is higher where it should be: the area under the ROC curve, with an interval for correlated cases.

    AUC = P(X > Y) + P(X = Y) / 2     X: the value in a case of the kind that is looked for, Y: in one of the other kind

The Mann-Whitney statistic, ties counted as one half. Its variance is DeLong's (Biometrics 44, 1988) with the components
summed over clusters (Obuchowski, Biometrics 53, 1997): searches of one session are not independent. The interval is
Wilson's for the number of independent cases that would have this variance, because AUC +- 2 se is too short near 0 and 1
and says "certain" where every case is on its side. There the variance is 0 and the smaller number of clusters is taken.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .interval import CONFIDENCE, wilson
from .student import t_quantile

__all__ = ["Case", "auc", "auc_interval"]


class Case(NamedTuple):
    """A value, whether the case is of the kind that is looked for, and the cluster it belongs to."""

    value: float
    positive: bool
    cluster: int


def auc(cases: Iterable[Case]) -> float | None:
    """The area, or None without a case of each kind."""
    found = list(cases)
    return _area(*_placements(found)) if _has_both(found) else None


def auc_interval(cases: Iterable[Case]) -> tuple[float, float] | None:
    """Where it may lie; None with fewer than two clusters of either kind."""
    found = list(cases)
    if not _has_both(found):
        return None
    positives, negatives = _placements(found)
    area = _area(positives, negatives)
    above, below = _by_cluster(positives, area), _by_cluster(negatives, area)
    if min(len(above), len(below)) < 2:
        return None
    variance = _variance(above, below, len(positives), len(negatives))
    fewer = min(len(above), len(below))
    certain = area * (1 - area)
    n = min(certain / variance, float(len(found))) if variance > 0 and certain > 0 else float(fewer)
    return wilson(area, n, t_quantile((1 + CONFIDENCE) / 2, fewer - 1))


_Placed = list[tuple[float, int]]


def _has_both(cases: Sequence[Case]) -> bool:
    return len({case.positive for case in cases}) == 2


def _placements(cases: Sequence[Case]) -> tuple[_Placed, _Placed]:
    """For each case the share of the other kind that lies on its right side, with its cluster."""
    highs = sorted(case.value for case in cases if case.positive)
    lows = sorted(case.value for case in cases if not case.positive)
    positives = [(_below(lows, case.value), case.cluster) for case in cases if case.positive]
    negatives = [(1 - _below(highs, case.value), case.cluster) for case in cases if not case.positive]
    return positives, negatives


def _below(others: Sequence[float], value: float) -> float:
    return (bisect_left(others, value) + bisect_right(others, value)) / (2 * len(others))


def _area(positives: _Placed, negatives: _Placed) -> float:
    return math.fsum(share for share, _ in positives) / len(positives)


def _by_cluster(placed: _Placed, area: float) -> dict[int, float]:
    sums: dict[int, float] = {}
    for share, cluster in placed:
        sums[cluster] = sums.get(cluster, 0.0) + share - area
    return sums


def _variance(above: dict[int, float], below: dict[int, float], positives: int, negatives: int) -> float:
    clusters = len(above.keys() | below.keys())
    first = len(above) / (len(above) - 1) * math.fsum(v * v for v in above.values()) / positives**2
    second = len(below) / (len(below) - 1) * math.fsum(v * v for v in below.values()) / negatives**2
    both = math.fsum(above[c] * below[c] for c in above.keys() & below.keys())
    return first + second + 2 * clusters / (clusters - 1) * both / (positives * negatives)
