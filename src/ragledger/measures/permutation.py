"""How often chance alone makes a difference as large: labels A and B are dealt anew to whole searches, within surfaces.

    p = (1 + shuffles with |d*| >= |d|) / (1 + shuffles)        exact, over every labelling, where there are few

Searches are dealt, not votes: votes on one search belong together. The statistic is that of `difference.py`. Searches of one
surface with the same U and J are interchangeable, so that a shuffle need not be made search by search: how many of each
such type fall to a side is multivariate hypergeometric, which is the same distribution at a hundredth of the time. Where
nearly every search is of its own type, they are shuffled one by one. Swapping A and B gives the same p.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .difference import Clusters

__all__ = ["SHUFFLES", "Tested", "permuted"]

SHUFFLES = 10_000

_SAME = 1e-9
_CELLS = 4_000_000
_ONE_BY_ONE = 4


class Tested(Struct, frozen=True, kw_only=True):
    """What a test by chance came to, over how many shuffles, or over every one there is."""

    p: float
    shuffles: int
    exact: bool


def permuted(clusters: Clusters, *, seed: int = 0, shuffles: int = SHUFFLES) -> Tested | None:
    """The test, or None where no labelling can be told from another: no surface has searches of both sides."""
    surfaces = _surfaces(clusters)
    if not surfaces:
        return None
    observed = _observed(surfaces)
    if observed < 0:
        # The same draws for A against B as for B against A, so that both have the same p.
        surfaces = _surfaces(clusters.swapped())
        observed = _observed(surfaces)
    labellings = math.prod(surface.labellings for surface in surfaces)
    if labellings <= shuffles:
        found = np.abs(_every(surfaces))
        return Tested(p=float(np.mean(found >= observed - _SAME)), shuffles=labellings, exact=True)
    rng = np.random.default_rng(seed)
    reached = 0
    block = max(1, min(shuffles, _CELLS // max(surface.width for surface in surfaces)))
    for start in range(0, shuffles, block):
        size = min(block, shuffles - start)
        values = _value(surfaces, [surface.deal(rng, size) for surface in surfaces])
        reached += int(np.count_nonzero(np.abs(values) >= observed - _SAME))
    return Tested(p=(1 + reached) / (1 + shuffles), shuffles=shuffles, exact=False)


def _surfaces(clusters: Clusters) -> list[_Surface]:
    found = [_Surface(clusters, number) for number in np.unique(clusters.surface)]
    return [surface for surface in found if surface.both]


def _observed(surfaces: list[_Surface]) -> float:
    return float(_value(surfaces, [surface.drawn for surface in surfaces])[0])


class _Surface:
    """The searches of one surface, by type, and what its smaller side drew of them: columns of (U, J)."""

    def __init__(self, clusters: Clusters, number: int) -> None:
        here = clusters.surface == number
        # Shares of several voters are added in any order: rounded, or equal searches would be of different types.
        of_b, self._useful = clusters.of_b[here], np.round(clusters.useful[here], 12)
        self._judged = clusters.judged[here]
        b = int(of_b.sum())
        self.b_drawn = b < len(of_b) - b
        self._draws = min(b, len(of_b) - b)
        self.both = self._draws > 0
        mine = of_b if self.b_drawn else ~of_b
        self.drawn = np.array([[self._useful[mine].sum(), self._judged[mine].sum()]])
        self.useful, self.judged = float(self._useful.sum()), float(self._judged.sum())
        self.labellings = math.comb(len(of_b), self._draws)
        pairs = np.column_stack([self._useful, self._judged])
        self._types, self._sizes = np.unique(pairs, axis=0, return_counts=True)
        self._grouped = len(self._types) * _ONE_BY_ONE <= len(of_b)
        self.width = len(self._types) if self._grouped else len(of_b)

    def deal(self, rng: np.random.Generator, times: int) -> NDArray[np.float64]:
        """What the smaller side draws, so many times."""
        if self._grouped:
            counts = rng.multivariate_hypergeometric(self._sizes, self._draws, size=times, method="marginals")
            return np.asarray(counts @ self._types)
        rows = np.repeat(self._types, self._sizes, axis=0)
        labels = np.zeros((times, len(rows)), dtype=np.bool_)
        labels[:, : self._draws] = True
        rng.permuted(labels, axis=1, out=labels)
        return np.asarray(labels @ rows)

    def every(self) -> NDArray[np.float64]:
        """What it can draw at all, each labelling once."""
        rows = np.column_stack([self._useful, self._judged])
        chosen = itertools.combinations(range(len(rows)), self._draws)
        return np.array([rows[list(some)].sum(axis=0) for some in chosen])


def _value(surfaces: list[_Surface], drawn: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """d for each labelling; 0 where it leaves no surface with judged hits on both sides."""
    above: NDArray[np.float64] = np.zeros(len(drawn[0]))
    below: NDArray[np.float64] = np.zeros(len(drawn[0]))
    for surface, some in zip(surfaces, drawn, strict=True):
        useful, judged = some[:, 0], some[:, 1]
        gain = useful - judged * surface.useful / surface.judged
        above += gain if surface.b_drawn else -gain
        below += judged * (surface.judged - judged) / surface.judged
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _every(surfaces: list[_Surface]) -> NDArray[np.float64]:
    each = [surface.every() for surface in surfaces]
    indexes = np.indices([len(some) for some in each]).reshape(len(each), -1)
    return _value(surfaces, [some[index] for some, index in zip(each, indexes, strict=True)])
