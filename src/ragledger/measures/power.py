"""How many votes tell one precision from another.

    n = (z_{1-alpha/2} sqrt(2 p q) + z_{power} sqrt(p1 q1 + p2 q2))^2 / (p1 - p2)^2,   p = (p1 + p2) / 2

independent votes on each side (Fleiss, Statistical Methods for Rates and Proportions), times the design effect: votes on one
search say less than as many votes on different ones.
"""

from __future__ import annotations

import math
from statistics import NormalDist

__all__ = ["votes_needed"]


def votes_needed(
    share_from: float, share_to: float, *, power: float = 0.8, alpha: float = 0.05, design_effect: float = 1.0
) -> int:
    """Judged hits that each side needs.

    Raises:
        ValueError: shares outside of 0 to 1 or equal, power or alpha outside of (0, 1).
    """
    if not (0 <= share_from <= 1 and 0 <= share_to <= 1) or share_from == share_to:
        raise ValueError("two different shares between 0 and 1 are needed")
    if not (0 < power < 1 and 0 < alpha < 1):
        raise ValueError("power and alpha lie between 0 and 1")
    middle = (share_from + share_to) / 2
    normal = NormalDist()
    apart = normal.inv_cdf(1 - alpha / 2) * math.sqrt(2 * middle * (1 - middle))
    apart += normal.inv_cdf(power) * math.sqrt(share_from * (1 - share_from) + share_to * (1 - share_to))
    return math.ceil((apart / (share_to - share_from)) ** 2 * design_effect)
