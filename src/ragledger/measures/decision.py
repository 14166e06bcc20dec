"""Whether a gain is to be acted on: recommend, keep, or collect more votes.

    recommend  the interval of the cross-fitted gain lies above zero
    keep       it does not, and its upper end is at most 0.02: even if it were true, little would be won
    collect    anything else: too wide to say

How many more questions would decide: those for which the interval would, in 80 of 100 cases, be narrow enough to
leave out zero if the gain is what it seems, or 0.02 if it is not: ((t + z80) x error / max(gain, 0.02 - gain))^2 times as many.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

from msgspec import Struct

from .crossfit import Gain
from .student import t_quantile

__all__ = ["WORTHWHILE", "Needed", "Verdict", "decide", "needed"]

Verdict = Literal["recommend", "keep", "collect", "refused"]

WORTHWHILE = 0.02
"""A share of pairs; a gain below it is not worth a change."""
_POWER = 0.80


class Needed(Struct, frozen=True, kw_only=True):
    """How many more votes on how many more questions would probably decide."""

    questions: int
    votes: int


def decide(gain: Gain) -> Verdict:
    """What the interval of the gain allows to say."""
    if gain.low > 0:
        return "recommend"
    return "keep" if gain.high <= WORTHWHILE else "collect"


def needed(gain: Gain, questions: int, votes: int) -> Needed:
    """What is missing to decide, in questions that were not asked yet, with as many votes on each as until now."""
    wanted = max(gain.value, WORTHWHILE - gain.value)
    both = t_quantile(0.975, questions - 1) + NormalDist().inv_cdf(_POWER)
    more = max(math.ceil(questions * ((both * gain.error / wanted) ** 2 - 1)), 1)
    return Needed(questions=more, votes=math.ceil(more * votes / questions))
