"""How many results are worth asking for, from where the useful ones stood.

    useful at a rank, estimated = shown x useful / judged: voters look at the top more often than at the bottom, so
    counting useful votes alone would always call for fewer results.

Within a rank it is taken that what was judged is like what was not. A suggestion never goes beyond what was shown. Ranks on
which too few voted are not known, and not useless: they may be as useful as what was voted on from the last known rank down. Where
the suggestion would then not reach its share of the useful hits, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

__all__ = ["FEWEST_JUDGED", "REACH", "Depth", "RankFact", "depth"]

REACH = 0.95
"""Share of the useful hits that the suggested number of results reaches."""
FEWEST_JUDGED = 5
"""At a rank, to say how useful hits are there."""
_ROUNDING = 1e-12


class RankFact(Struct, frozen=True, array_like=True):
    """What was shown at a rank, and what of it voters of one kind judged and found useful."""

    rank: int
    shown: int
    judged: int
    useful: float


class Depth(Struct, frozen=True, kw_only=True):
    """`suggested` results reach `reached` of the useful hits that are estimated among the first `last` ranks.

    `at_last`: share of the judged hits at the last of these ranks that were useful; where it is as high as above,
    more results may be worth it, and nobody has seen them.
    """

    running: int | None
    suggested: int
    reached: float
    last: int
    judged: int
    at_last: float


def depth(ranks: Sequence[RankFact], running: int | None) -> Depth | str:
    """Over the ranks from the first that were judged often enough; else why nothing can be suggested."""
    ranks = sorted(ranks, key=lambda fact: fact.rank)
    told = []
    for place, fact in enumerate(ranks, 1):
        if fact.rank != place or fact.judged < FEWEST_JUDGED:
            break
        told.append(fact)
    estimates = [fact.shown * fact.useful / fact.judged for fact in told]
    total = sum(estimates)
    if len(told) < 2 or not total:
        return "too few judged hits at the first ranks" if len(told) < 2 else "no judged hit was useful"
    reached = list(accumulate(estimate / total for estimate in estimates))
    suggested = next(place for place, share in enumerate(reached, 1) if share >= REACH - _ROUNDING)
    below = _below(ranks, len(told), running)
    if below and sum(estimates[:suggested]) < REACH * (total + below) - _ROUNDING:
        return f"votes end at rank {len(told)}, and what is shown below may be as useful"
    return Depth(
        running=running,
        suggested=suggested,
        reached=min(reached[suggested - 1], 1.0),
        last=len(told),
        judged=sum(fact.judged for fact in told),
        at_last=told[-1].useful / told[-1].judged,
    )


def _below(ranks: Sequence[RankFact], last: int, running: int | None) -> float:
    """Useful hits from the last known rank down to the running number of results, if they are what was voted on there."""
    known = [fact for fact in ranks if fact.rank >= last]
    rate = sum(fact.useful for fact in known) / sum(fact.judged for fact in known)
    return rate * sum(
        fact.shown for fact in known if last < fact.rank and (running is None or fact.rank <= running)
    )
