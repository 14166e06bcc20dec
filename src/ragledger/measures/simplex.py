"""Weights that are tried: points of the simplex (none negative, their sum is 1), evenly spread."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_SIGNALS", "around", "lattice"]

MOST_SIGNALS = 8
_PARTS = {2: 100, 3: 20, 4: 12, 5: 8, 6: 6, 7: 5, 8: 4}
"""Into how many parts each edge is divided: 101 to 500 points."""


def lattice(signals: int, parts: int | None = None) -> NDArray[np.float64]:
    """All points whose coordinates are multiples of 1/parts, those of two signals ascending in the first."""
    parts = parts or _PARTS[signals]
    bars = np.array(list(combinations(range(parts + signals - 1), signals - 1)), dtype=np.int64)
    ends = np.full((len(bars), 1), parts + signals - 1)
    edges = np.hstack([np.full_like(ends, -1), bars, ends])
    return (np.diff(edges, axis=1) - 1) / parts


def around(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same points, drawn together round a centre to a quarter of the size."""
    return centre + (points - centre) / 4
