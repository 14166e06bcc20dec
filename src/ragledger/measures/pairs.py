"""Pairs of a useful and a not useful hit of the same search: what weights are fitted on.

Both hits were shown to the same voter for the same question, so neither the question's difficulty nor who asked
stands between them. Replaying precision over judged hits does not have this: it picks the weights under which least
was judged (docs/calibrate.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "Pairs", "Truths", "ordered", "pairs_of", "right_by_query", "within_searches"]

_ROWS = 50_000  # pairs that are looked at under all weights at once: 50,000 x 300 truths are 15 MB

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]


class Pairs(NamedTuple):
    """Useful minus not useful, a column per signal; which question it was; how the running ranking has them.

    `query` counts from 0 and ascends. `running` is 1 where the useful one stands first, 0 where it does not, and 0.5
    where the two are equal.
    """

    gaps: Floats
    query: Ints
    running: Floats

    def of(self, chosen: Truths) -> Pairs:
        """The pairs of the chosen questions, counted anew."""
        kept = chosen[self.query]
        place = np.cumsum(chosen) - 1
        return Pairs(self.gaps[kept], place[self.query[kept]], self.running[kept])


def within_searches(search: Ints, useful: Truths) -> tuple[Ints, Ints]:
    """Every pair of a useful and a not useful hit of one search, as two lists of places in what was given."""
    good, bad = np.flatnonzero(useful), np.flatnonzero(~useful)
    good, bad = good[np.argsort(search[good], kind="stable")], bad[np.argsort(search[bad], kind="stable")]
    first = np.searchsorted(search[bad], search[good], side="left")
    many = np.searchsorted(search[bad], search[good], side="right") - first
    left = np.repeat(good, many)
    start = np.repeat(first - (np.cumsum(many) - many), many)
    return left, bad[start + np.arange(len(left))]


def pairs_of(gaps: Floats, question: NDArray[Any], running: Floats) -> Pairs:
    """Sorts pairs by their question."""
    _, query = np.unique(question, return_inverse=True)
    order = np.argsort(query, kind="stable")
    return Pairs(gaps[order], query[order].astype(np.int64), running[order])


def ordered(gaps: Floats, weights: Floats) -> Floats:
    """Per pair: 1 where the weighted sum puts the useful one first, 0 where it does not, 0.5 where they are equal."""
    truths: Floats = 0.5 + 0.5 * np.sign(gaps @ weights)
    return truths


def right_by_query(pairs: Pairs, lattice: Floats) -> tuple[Floats, Floats]:
    """Per question: how many pairs each weights of the lattice order right, and how many there are."""
    total = np.bincount(pairs.query).astype(np.float64)
    right = np.zeros((len(total), len(lattice)))
    for start in range(0, len(pairs.query), _ROWS):
        part = slice(start, start + _ROWS)
        query = pairs.query[part]
        first = np.flatnonzero(np.diff(query, prepend=-1))
        right[query[first]] += np.add.reduceat(ordered(pairs.gaps[part], lattice.T), first, axis=0)
    return right, total
