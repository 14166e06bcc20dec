"""What few voters add to the uncertainty of a paired difference: how strict one is cancels only where they vote on both sides.

    e_aqs = s (U_aqs - p_s J_aqs) / (n J_qs)              of voter a, question q, side s = -1 (A) or 1 (B)
    excess = max(V_a - V_aq, 0)
    V_a  = (K - 1) / K  sum over a (sum over s of e_as / (1 - w_as))^2,    w_as: the part of side s that a judged
    V_aq = n / (n - 1)  sum over a and q (sum over s of e_aqs)^2

p_s is the mean of the n questions' shares on that side. Clusters by question and by voter cross, so that the error is the sum of
both without what they share (Cameron, Gelbach & Miller, Journal of Business & Economic Statistics 29, 2011): `paired.py` has
the first, this is the rest. V_a is the jackknife that leaves out one voter after the other, which does not fall short where
one gave most votes. Whose taste is on both sides alike adds nothing. Coverage is simulated in `benchmarks/comparison.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Said", "VotersTerm", "voters_term"]

_FEWEST = 2
_NEARLY_ALL = 1e-3
"""A voter with more than all but this part of a side's votes is taken for one with that: the interval spans everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """U and J of a question by who voted, as arrays of one length; a hit that several judged is divided among them."""

    question: NDArray[np.int64]
    of_b: NDArray[np.bool_]
    actor: NDArray[np.int64]
    useful: NDArray[np.float64]
    judged: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersTerm:
    """`actors`: on the side that has fewest. `excess`: a variance; None where a side has only one and nothing can be told."""

    actors: int
    excess: float | None


def voters_term(said: Said) -> VotersTerm | None:
    """Of the questions that both sides have votes on; None without any."""
    number = int(said.question.max(initial=-1)) + 1
    side = said.of_b.astype(np.int64)
    totals = np.bincount(side * number + said.question, said.judged, 2 * number).reshape(2, number)
    on_both = (totals[0] > 0) & (totals[1] > 0)
    rows = on_both[said.question] & (said.judged > 0)
    if not rows.any():
        return None
    side, question = side[rows], said.question[rows]
    names, actor = np.unique(said.actor[rows], return_inverse=True)
    fewest = min(len(np.unique(actor[side == one])) for one in (0, 1))
    n = len(np.unique(question))
    if fewest < _FEWEST or n < _FEWEST:
        return VotersTerm(actors=fewest, excess=None)
    part = said.judged[rows] / (n * totals[side, question])
    share = said.useful[rows] / (n * totals[side, question])
    left = (2 * side - 1) * (share - np.bincount(side, share, 2)[side] * part)
    cells, of_cell = np.unique(question * len(names) + actor, return_inverse=True)
    both = np.bincount(of_cell, left, len(cells))
    place = side * len(names) + actor
    by_actor, weight = (np.bincount(place, values, 2 * len(names)).reshape(2, -1) for values in (left, part))
    without = (by_actor / np.maximum(1 - weight, _NEARLY_ALL)).sum(axis=0)
    of_voters = (len(names) - 1) / len(names) * float(without @ without)
    return VotersTerm(actors=fewest, excess=max(of_voters - n / (n - 1) * float(both @ both), 0.0))
