"""nDCG' of one search: how near the order of its judged hits comes to the best order of the same hits.

    DCG'  = sum over the judged hits of gain / log2(i + 1),   i = 1, 2, ... among the judged ones alone
    nDCG' = DCG' / the DCG' of the same hits by falling gain

The condensed list of Sakai, "Alternatives to Bpref", SIGIR 2007: unjudged hits are left out, not taken for useless. The
gain of a hit is 2^y - 1 for y = 0 .. 3; of several actors the mean. It speaks of order alone, so a search whose judged
hits all have the same gain has no nDCG': any order of them is the best one.

Unlike nDCG of a test collection, the best order knows only the judged hits that were returned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["ndcg"]


def ndcg(gains: Sequence[float]) -> float | None:
    """Of the gains of the judged hits, from the first rank down; None with fewer than two different ones."""
    if len(set(gains)) < 2:
        return None
    return _dcg(gains) / _dcg(sorted(gains, reverse=True))


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
