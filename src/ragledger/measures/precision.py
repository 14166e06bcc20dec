"""precision@k over judged hits, pooled over searches.

    precision@k = U_k / J_k        J_k: judged hits at a rank of at most k
                                   U_k: the sum of their usefulness
    judged share = J_k / shown_k   the measure `Judged@k` of ir_measures, over all searches
    bounds = U_k / shown_k .. (U_k + unjudged_k) / shown_k   if every unjudged hit were useless .. useful

A hit is judged once per voter kind, and its usefulness is the share of that kind's actors who found it useful, so
U_k may be a fraction: it is summed exactly and rounded once, at the end. A hit without a vote is unknown, not
irrelevant: it is in neither sum.

This is the micro average (a search with many votes weighs more; `macro.py` has the other one), it does not divide by k,
and it does not move hits up into the places of unjudged ones: it is neither classic P@k nor the condensed list of Sakai,
"Alternatives to Bpref", SIGIR 2007 (`judged_only` of ir_measures). The three differ widely on the same votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from .interval import Sums

__all__ = ["CUTS", "bounds", "judged_share", "precision", "sums_of", "total"]

CUTS = (1, 3, 5, 10)
"""The k of every report. Fixed, so that two reports can be laid side by side."""


def sums_of(searches: Iterable[tuple[int | Fraction, int, int]]) -> Sums:
    """Of (U_s, J_s, how many searches are so), those without a judged hit left out. U is added up exactly."""
    found = [one for one in searches if one[1]]
    return Sums(
        clusters=sum(n for _, _, n in found),
        useful=float(total(useful * n for useful, _, n in found)),
        judged=sum(judged * n for _, judged, n in found),
        useful_sq=math.fsum(float(useful * useful * n) for useful, _, n in found),
        judged_sq=sum(judged * judged * n for _, judged, n in found),
        useful_judged=math.fsum(float(useful * judged * n) for useful, judged, n in found),
    )


def total(values: Iterable[int | Fraction]) -> int | Fraction:
    """The exact sum. Whole numbers, which nearly all are, apart: adding fractions is fifty times slower."""
    fractions: list[Fraction] = []
    whole = 0
    for value in values:
        if isinstance(value, int):
            whole += value
        else:
            fractions.append(value)
    return whole + sum(fractions) if fractions else whole


def precision(sums: Sums) -> float | None:
    """U / J, or None while nothing is judged."""
    return sums.useful / sums.judged if sums.judged else None


def judged_share(judged: float, shown: int) -> float | None:
    """J / shown, the part of what was shown that the precision speaks for; None when nothing was shown."""
    return judged / shown if shown else None


def bounds(sums: Sums, shown: int) -> tuple[float, float] | None:
    """What the precision of everything shown can be at least and at most; None while nothing is judged."""
    if not shown or not sums.judged:
        return None
    return sums.useful / shown, (sums.useful + shown - sums.judged) / shown
