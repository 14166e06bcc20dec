"""Whether voters agree about a hit well enough for it to be judged.

    agreement = votes on the winning side / votes       the sides: useful (of grade `useful_from` or better), and not
    grade     = the lower median of the winning side's grades

A voter counts once per question and hit. Too few votes, a tie between the sides, and an agreement below the minimum
are three reasons why nothing is known; none of them means "not relevant".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

__all__ = ["Agreed", "Doubt", "Rule", "agreed"]

Doubt = Literal["too_few_votes", "tie", "disagreement"]


class Rule(NamedTuple):
    """What it takes to be judged."""

    min_votes: int = 2
    min_agreement: float = 0.7
    useful_from: int = 2


class Agreed(NamedTuple):
    """The grade, and what it rests on."""

    grade: int
    votes: int
    agreement: float


def agreed(grades: Sequence[int], rule: Rule) -> Agreed | Doubt:
    """What the voters say together, one grade each."""
    if len(grades) < max(1, rule.min_votes):
        return "too_few_votes"
    useful = sorted(grade for grade in grades if grade >= rule.useful_from)
    others = sorted(grade for grade in grades if grade < rule.useful_from)
    if len(useful) == len(others):
        return "tie"
    winners = max(useful, others, key=len)
    agreement = len(winners) / len(grades)
    if agreement < rule.min_agreement:
        return "disagreement"
    return Agreed(winners[(len(winners) - 1) // 2], len(grades), agreement)
