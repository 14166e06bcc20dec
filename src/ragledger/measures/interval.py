"""The interval around a precision, clustered: votes on one search are not independent of each other.

    p      = U / J                                 U, J: useful and judged hits, summed over S clusters (searches)
    e2     = sum U_s^2 - 2 p sum U_s J_s + p^2 sum J_s^2
    deff   = S / (S - 1) * e2 / J^2  /  (p (1 - p) / J)      the design effect that was observed
    deff'  = w deff + (1 - w) (1 + (sum J_s^2 / J - 1) icc),  w = r / (r + 1),  r = min(U, J - U),  at least 0.5
    n_eff  = J / deff'
    interval: Wilson's (JASA 1927) for p and n_eff, with the t quantile of S - 1 degrees of freedom in place of z

A binomial interval over hits covers 80 to 89 % where it says 95, and the linearised ratio's is too short near 1 with few
searches. This one covers 94 to 98 % (`benchmarks/intervals.py`). The observed design effect says nothing while nearly all
votes agree (at p = 1 it is 0 / 0), so it is drawn to the one that an assumed correlation inside a search (`ICC`) would
have, the less the more votes of the rarer kind there are. Everything comes from six sums, which rollups keep.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from .student import t_quantile

__all__ = ["CONFIDENCE", "ICC", "Interval", "Sums", "clustered", "wilson"]

CONFIDENCE = 0.95
"""Of every interval that is shown."""

ICC = 0.3
"""The correlation of votes inside a search that is assumed as long as they cannot tell."""

_SMALLEST_EFFECT = 0.5
_FEWEST_CLUSTERS = 2


class Sums(Struct, frozen=True, kw_only=True):
    """What an interval needs of the clusters (searches, or actors) that have at least one judged hit.

    `clusters` counts them; `useful` and `judged` are the sums of their U and J, `useful_sq`, `judged_sq` and
    `useful_judged` the sums of U^2, J^2 and UJ. `judged` is a fraction where a hit is divided among the actors who judged it.
    """

    clusters: int
    useful: float
    judged: float
    useful_sq: float
    judged_sq: float
    useful_judged: float

    @classmethod
    def of(cls, clusters: Iterable[tuple[float, int]]) -> Sums:
        """Of (useful, judged) per cluster; those without a judged hit are not counted."""
        found = [(float(useful), judged) for useful, judged in clusters if judged]
        return cls(
            clusters=len(found),
            useful=math.fsum(useful for useful, _ in found),
            judged=sum(judged for _, judged in found),
            useful_sq=math.fsum(useful * useful for useful, _ in found),
            judged_sq=sum(judged * judged for _, judged in found),
            useful_judged=math.fsum(useful * judged for useful, judged in found),
        )


class Interval(Struct, frozen=True, kw_only=True):
    """From `low` to `high`, with the design effect that was used and how many independent votes it leaves."""

    low: float
    high: float
    design_effect: float
    n_effective: float


def clustered(sums: Sums, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval of U / J, or None with fewer than two clusters: one search cannot say how searches differ."""
    if sums.clusters < _FEWEST_CLUSTERS or not sums.judged:
        return None
    effect = _design_effect(sums)
    n = sums.judged / effect
    share = min(max(sums.useful / sums.judged, 0.0), 1.0)
    low, high = wilson(share, n, t_quantile((1 + confidence) / 2, sums.clusters - 1))
    return Interval(low=low, high=high, design_effect=effect, n_effective=n)


def wilson(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's score interval for a share of `n` trials; `n` need not be whole."""
    square = quantile * quantile / n
    centre = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square * square / 4) / (1 + square)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _design_effect(sums: Sums) -> float:
    share = sums.useful / sums.judged
    rarer = max(min(sums.useful, sums.judged - sums.useful), 0.0)
    assumed = 1 + (sums.judged_sq / sums.judged - 1) * ICC
    binomial = share * (1 - share) / sums.judged
    if rarer <= 0 or binomial <= 0:
        return max(assumed, _SMALLEST_EFFECT)
    spread = sums.useful_sq - 2 * share * sums.useful_judged + share * share * sums.judged_sq
    observed = sums.clusters / (sums.clusters - 1) * max(spread, 0.0) / sums.judged**2 / binomial
    weight = rarer / (rarer + 1)
    return max(weight * observed + (1 - weight) * assumed, _SMALLEST_EFFECT)
