"""A mergeable histogram of latencies: counts per bin, by integers alone, so that every machine agrees.

    n   = the latency in whole nanoseconds
    bin = n                             below 128
    bin = 64 * shift + (n >> shift)     above, shift = bits of n - 7

So there are 64 bins in every power of two. The middle of a bin is at most 1/128 (0.8 %) away from what fell into it.
This is the layout of HdrHistogram (Tene) with seven bits; percentiles are nearest ranks (`percentile.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from .percentile import smallest_sample

__all__ = ["bin_of", "middle_ms", "percentile_ms"]

_LARGEST_NS = 9e18
_BITS = 7
_HALF = 64
_PER_MS = 1e6


def bin_of(latency_ms: float) -> int:
    """Which bin a latency falls into."""
    ns = latency_ms * _PER_MS
    whole = int(_LARGEST_NS) if math.isnan(ns) or ns > _LARGEST_NS else round(ns)
    shift = max(whole.bit_length() - _BITS, 0)
    return shift * _HALF + (whole >> shift)


def middle_ms(number: int) -> float:
    """What a bin stands for."""
    shift = max(number // _HALF - 1, 0)
    first = (number - shift * _HALF) << shift
    return (first + ((1 << shift) - 1) / 2) / _PER_MS


def percentile_ms(counts: Mapping[int, int], percent: int) -> float | None:
    """The percentile of what fell into these bins, or None when that was too little."""
    total = sum(counts.values())
    if total < smallest_sample(percent):
        return None
    left = -(-percent * total // 100)
    for number in sorted(counts):
        left -= counts[number]
        if left <= 0:
            return middle_ms(number)
    raise AssertionError("unreachable")
