"""precision@k over judged hits, pooled over searches.

    precision@k = U_k / J_k        J_k: judged hits at a position of at most k
                                   U_k: the sum of their usefulness
    judged share = J_k / shown_k   the measure `Judged@k` of ir_measures, over all searches

A hit is judged once per voter kind, and its usefulness is the share of that kind's actors who found it useful, so
U_k may be a fraction: it is summed exactly and rounded once, at the end. A hit without a vote is unknown, not
irrelevant: it is in neither sum.

This is the micro average (a search with many votes weighs more), it does not divide by k, and it does not move
hits up into the places of unjudged ones: it is neither classic P@k nor the condensed list of Sakai, "Alternatives
to Bpref", SIGIR 2007 (`judged_only` of ir_measures). The three differ widely on the same votes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["CUTS", "Judged", "judged_hits", "judged_share", "precision", "usefulness", "within"]

CUTS = (1, 3, 5, 10)
"""The k of every report. Fixed, so that two reports can be laid side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Some hits at one position, each judged by the same number of actors of one kind.

    `useful_votes` counts the votes at or above the cut over all of these hits. `position` is None for a hit that did
    not reach the prompt: it is judged, but it is within no cut.
    """

    position: int | None
    actors: int
    useful_votes: int
    hits: int = 1


def within(judged: Iterable[Judged], k: int) -> list[Judged]:
    """Those at a position of at most k."""
    return [one for one in judged if one.position is not None and one.position <= k]


def judged_hits(judged: Iterable[Judged]) -> int:
    """J: every hit once, however many actors judged it."""
    return sum(one.hits for one in judged)


def usefulness(judged: Iterable[Judged]) -> Fraction:
    """U: the sum over hits of the share of actors who found the hit useful."""
    return sum((Fraction(one.useful_votes, one.actors) for one in judged), Fraction(0))


def precision(judged: Iterable[Judged], k: int) -> float | None:
    """U_k / J_k, or None while nothing at a position of at most k is judged."""
    counted = within(judged, k)
    hits = judged_hits(counted)
    return float(usefulness(counted) / hits) if hits else None


def judged_share(judged: int, shown: int) -> float | None:
    """J_k / shown_k, the part of what was shown that the precision speaks for; None when nothing was shown."""
    return judged / shown if shown else None
