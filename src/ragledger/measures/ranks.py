"""Where in the list things happened: sums per rank, from the first one down.

    at[p] = the sum over what stands at rank p,   p = 1 .. top;   beyond = the sum over all lower ranks

Read votes beside what was shown: a person votes on what they saw, so few useful votes at rank 9 say little
while hardly anybody looked there (position bias; Joachims et al., SIGIR 2005).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

__all__ = ["TOP", "last_rank", "spread"]

TOP = 20
"""Ranks told apart in a report; the rest is one sum."""

Amount = TypeVar("Amount", int, Fraction)


def spread(placed: Iterable[tuple[int | None, Amount]], zero: Amount, top: int = TOP) -> list[Amount]:
    """The sums at ranks 1 to `top`, and as one more item that of everything beyond.

    What has no rank (a hit that was dropped before the prompt) is at none of them.
    """
    sums = [zero] * (top + 1)
    for rank, amount in placed:
        if rank is not None:
            sums[min(rank, top + 1) - 1] += amount
    return sums


def last_rank(shown: list[int]) -> int:
    """The lowest rank at which anything was shown, 0 when nothing was."""
    return max((rank for rank, count in enumerate(shown, start=1) if count), default=0)
