"""The difference of two precisions, B - A, within surfaces, with an interval clustered by search.

    d = sum over surfaces of w (U_B / J_B - U_A / J_A) / sum of w,   w = J_A J_B / (J_A + J_B)

The weights are those of Mantel and Haenszel (1959): with one surface d is the plain difference of ratios, and a surface that
only one side was asked on weighs nothing, so that a shift between surfaces is not taken for a change. Each side's share
is standardised by the same weights; its interval is `interval.clustered` with residuals around the share of each surface;
the two are joined by Newcombe's square-and-add rule (Statistics in Medicine 17, 1998; MOVER, Zou & Donner 2008). Its
coverage is simulated in `benchmarks/comparison.py`. Arrays of numpy: a million searches in a moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .interval import Interval, Sums, clustered, wilson
from .student import t_quantile

__all__ = ["Clusters", "Difference", "Side", "difference", "difference_of_rates", "sides"]

_MANY = 10**6
"""Degrees of freedom at which t is the normal distribution to five digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Searches with at least one judged hit, as arrays of one length.

    `of_b` says on which side a search is; `surface` numbers its surface; `useful` and `judged` are its U and J.
    """

    of_b: NDArray[np.bool_]
    surface: NDArray[np.int64]
    useful: NDArray[np.float64]
    judged: NDArray[np.float64]

    def swapped(self) -> Clusters:
        """With A and B changed round."""
        return Clusters(of_b=~self.of_b, surface=self.surface, useful=self.useful, judged=self.judged)


class Side(Struct, frozen=True, kw_only=True):
    """One side at one k, over all of its surfaces: precision is useful / judged."""

    precision: float | None
    useful: float
    judged: int
    searches: int


class Difference(Struct, frozen=True, kw_only=True):
    """B - A. `low` and `high` are null where a side has too few searches to have an interval.

    `crude` is the difference of the two precisions over all surfaces: apart from `value` where the mix of surfaces changed.
    `left_out` counts judged hits on surfaces that only one side has.
    """

    value: float
    low: float | None
    high: float | None
    crude: float
    left_out: int


def sides(clusters: Clusters) -> tuple[Side, Side]:
    """What each side has, A first."""
    return _side(clusters, ~clusters.of_b), _side(clusters, clusters.of_b)


def difference(clusters: Clusters) -> Difference | None:
    """B - A, or None while no surface has a judged hit on both sides."""
    a, b = sides(clusters)
    number = int(clusters.surface.max(initial=-1)) + 1
    judged_a, judged_b = (_per_surface(clusters, mine, number) for mine in (~clusters.of_b, clusters.of_b))
    both = judged_a + judged_b
    weights = np.divide(judged_a * judged_b, both, out=np.zeros(number), where=both > 0)
    if not weights.sum() or a.precision is None or b.precision is None:
        return None
    weights /= weights.sum()
    share_a, interval_a = _standardised(clusters, weights, of_b=False)
    share_b, interval_b = _standardised(clusters, weights, of_b=True)
    low, high = _joined((share_a, interval_a), (share_b, interval_b))
    return Difference(
        value=share_b - share_a,
        low=low,
        high=high,
        crude=b.precision - a.precision,
        left_out=round(float(both[weights == 0].sum())),
    )


def difference_of_rates(a: tuple[int, int], b: tuple[int, int]) -> tuple[float, float, float] | None:
    """B - A with its interval for two rates over searches, each given as (n, of); None when one is over nothing."""
    if not a[1] or not b[1]:
        return None
    quantile = t_quantile(0.975, _MANY)
    bounds = []
    for n, of in (a, b):
        low, high = wilson(n / of, of, quantile)
        bounds.append((n / of, Interval(low=low, high=high, design_effect=1.0, n_effective=of)))
    joined = _joined(*bounds)
    return bounds[1][0] - bounds[0][0], *(0.0 if bound is None else bound for bound in joined)  # type: ignore[return-value]


def _joined(
    a: tuple[float, Interval | None], b: tuple[float, Interval | None]
) -> tuple[float | None, float | None]:
    (share_a, of_a), (share_b, of_b) = a, b
    if of_a is None or of_b is None:
        return None, None
    value = share_b - share_a
    down = math.hypot(share_b - of_b.low, of_a.high - share_a)
    up = math.hypot(of_b.high - share_b, share_a - of_a.low)
    return max(value - down, -1.0), min(value + up, 1.0)


def _standardised(
    clusters: Clusters, weights: NDArray[np.float64], *, of_b: bool
) -> tuple[float, Interval | None]:
    """The share of one side over surfaces of these weights, and its interval.

    Searches are scaled so that each surface has its weight, and moved by what their surface differs from the whole: what is
    left of them is how searches of one surface differ, and `clustered` sees nothing else. A surface costs a degree of freedom.
    """
    mine = (clusters.of_b == of_b) & (weights[clusters.surface] > 0)
    surface, useful, judged = clusters.surface[mine], clusters.useful[mine], clusters.judged[mine]
    totals = np.bincount(surface, judged, len(weights))
    used = totals > 0
    shares = np.divide(
        np.bincount(surface, useful, len(weights)), totals, out=np.zeros(len(weights)), where=used
    )
    share = float(weights @ shares)
    scale = np.divide(weights * judged.sum(), totals, out=np.zeros(len(weights)), where=used)[surface]
    scaled = scale * judged
    moved = scale * (useful - (shares[surface] - share) * judged)
    sums = Sums(
        clusters=len(judged) - int(used.sum()) + 1,
        useful=float(moved.sum()),
        judged=float(scaled.sum()),  # scaled hits are not whole
        useful_sq=float(moved @ moved),
        judged_sq=float(scaled @ scaled),
        useful_judged=float(moved @ scaled),
    )
    return share, clustered(sums)


def _side(clusters: Clusters, mine: NDArray[np.bool_]) -> Side:
    useful, judged = float(clusters.useful[mine].sum()), float(clusters.judged[mine].sum())
    return Side(
        precision=useful / judged if judged else None,
        useful=useful,
        judged=round(judged),
        searches=int(mine.sum()),
    )


def _per_surface(clusters: Clusters, mine: NDArray[np.bool_], number: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(clusters.surface[mine], clusters.judged[mine], number), dtype=np.float64)
