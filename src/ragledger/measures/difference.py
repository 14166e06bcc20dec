"""The difference of two precisions, B - A, within surfaces, with an interval clustered by search.

    d = sum over surfaces of w (U_B / J_B - U_A / J_A) / sum of w,   w = J_A J_B / (J_A + J_B)

The weights are those of Mantel and Haenszel (1959): with one surface d is the plain difference of ratios, and a surface that
only one side was asked on weighs nothing, so that a shift between surfaces is not taken for a change. Each side's share
is standardised by the same weights; its interval is `interval.clustered` with residuals around the share of each surface;
the two are joined by Newcombe's square-and-add rule (Statistics in Medicine 17, 1998; MOVER, Zou & Donner 2008). Each side's
interval is the wider of those by search and by voter; who votes on both sides counts as somebody else on each, which widens
and never narrows. Where one voter gave all votes of a side, or every surface has a single one of its own, nothing tells how
voters differ, and there is no interval. Its coverage is simulated in `benchmarks/comparison.py`. Arrays of numpy: a million
searches in a moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .actors import ClusteredBy
from .interval import Interval, Sums, clustered, wilson
from .student import t_quantile

__all__ = ["Actors", "Clusters", "Difference", "Side", "difference", "difference_of_rates", "sides"]

_MANY = 10**6
"""Degrees of freedom at which t is the normal distribution to five digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actors:
    """The same U and J by who voted: one row per actor, side and surface, or more. A hit that several judged is divided among them."""

    of_b: NDArray[np.bool_]
    surface: NDArray[np.int64]
    actor: NDArray[np.int64]
    useful: NDArray[np.float64]
    judged: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Searches with at least one judged hit, as arrays of one length.

    `of_b` says on which side a search is; `surface` numbers its surface; `useful` and `judged` are its U and J.
    Without `actors` the interval is by search alone.
    """

    of_b: NDArray[np.bool_]
    surface: NDArray[np.int64]
    useful: NDArray[np.float64]
    judged: NDArray[np.float64]
    actors: Actors | None = None

    def swapped(self) -> Clusters:
        """With A and B changed round."""
        actors = self.actors and replace(self.actors, of_b=~self.actors.of_b)
        return replace(self, of_b=~self.of_b, actors=actors)


class Side(Struct, frozen=True, kw_only=True):
    """One side at one k, over all of its surfaces: precision is useful / judged."""

    precision: float | None
    useful: float
    judged: int
    searches: int


class Difference(Struct, frozen=True, kw_only=True):
    """B - A. `low` and `high` are null where a side has too few searches to have an interval, or one voter on each surface.

    `actors`: how many voted on the surfaces that both sides have, on the side that has fewest; None: not said, and not in the interval.
    `crude` is the difference of the two precisions over all surfaces: apart from `value` where the mix of surfaces changed.
    `left_out` counts judged hits on surfaces that only one side has. `clustered_by` is "actor" where a side's interval is.
    """

    value: float
    low: float | None
    high: float | None
    clustered_by: ClusteredBy | None
    actors: int | None
    crude: float
    left_out: int


class _Standardised(NamedTuple):
    """The share of a side, its interval, what the clusters of that are, and how many voted."""

    share: float
    interval: Interval | None
    by: ClusteredBy | None
    actors: int | None


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
    of_a, of_b = (_standardised(clusters, weights, of_b=side) for side in (False, True))
    low, high = _joined((of_a.share, of_a.interval), (of_b.share, of_b.interval))
    by: ClusteredBy = "actor" if "actor" in {of_a.by, of_b.by} else "search"
    return Difference(
        value=of_b.share - of_a.share,
        low=low,
        high=high,
        clustered_by=None if low is None else by,
        actors=None if of_a.actors is None or of_b.actors is None else min(of_a.actors, of_b.actors),
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


def _standardised(clusters: Clusters, weights: NDArray[np.float64], *, of_b: bool) -> _Standardised:
    """One side over surfaces of these weights.

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
    scale = np.divide(weights * judged.sum(), totals, out=np.zeros(len(weights)), where=used)

    def moved(rows: Clusters | Actors, mine: NDArray[np.bool_]) -> tuple[NDArray[np.float64], ...]:
        here, of = rows.surface[mine], rows.judged[mine]
        return scale[here] * (rows.useful[mine] - (shares[here] - share) * of), scale[here] * of

    by_search = _sums(*moved(clusters, mine), freedom=len(judged) - int(used.sum()))
    actors, by_actor, voters = clusters.actors, None, None
    if actors is not None:
        mine = (actors.of_b == of_b) & (weights[actors.surface] > 0) & (actors.judged > 0)
        names, number = np.unique(actors.actor[mine], return_inverse=True)
        each = (np.asarray(np.bincount(number, of), dtype=np.float64) for of in moved(actors, mine))
        apart = _apart(number, actors.surface[mine])
        by_actor, voters = _sums(*each, freedom=len(names) - apart), len(names)
    return _Standardised(share, *_wider(by_search, by_actor), voters)


def _wider(by_search: Sums, by_actor: Sums | None) -> tuple[Interval | None, ClusteredBy | None]:
    # However many actors there are, unlike `actors.wider`: with 20 that differ by 0.1, 12 % of what is alike was told apart.
    searches, actors = clustered(by_search), clustered(by_actor) if by_actor is not None else None
    if searches is None or (by_actor is not None and actors is None):
        return None, None
    if actors is not None and actors.high - actors.low > searches.high - searches.low:
        return actors, "actor"
    return searches, "search"


def _apart(actor: NDArray[np.int64], surface: NDArray[np.int64]) -> int:
    """Into how many groups of surfaces the actors fall who have none in common: only inside of one are they told from surfaces."""
    group = np.arange(actor.max(initial=-1) + 1)
    while True:
        of_surface = np.full(surface.max(initial=-1) + 1, len(group))
        np.minimum.at(of_surface, surface, group[actor])
        joined = group.copy()
        np.minimum.at(joined, actor, of_surface[surface])
        if np.array_equal(joined, group):
            return len(np.unique(group))
        group = joined


def _sums(useful: NDArray[np.float64], judged: NDArray[np.float64], *, freedom: int) -> Sums:
    return Sums(
        clusters=freedom + 1,
        useful=float(useful.sum()),
        judged=float(judged.sum()),
        useful_sq=float(useful @ useful),
        judged_sq=float(judged @ judged),
        useful_judged=float(useful @ judged),
    )


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
