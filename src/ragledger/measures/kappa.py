"""Whether two kinds of voters say the same of the hits that both judged.

    equal share = hits with the same verdict / hits on which both kinds have one
    kappa       = (p_o - p_e) / (1 - p_e),   p_o the equal share, p_e what chance alone would give
                  (Cohen, Educational and Psychological Measurement 20, 1960)

Where nearly all verdicts are alike, the equal share is high by chance; kappa is what is left above chance: 1 is the same
verdict everywhere, 0 no better than guessing. It is null where one verdict is all there is (0 / 0).

The equal share has the interval of `interval.py`; kappa's is from its linearisation, summed over searches as clusters,
with the t quantile of S - 1 degrees of freedom. It is null where every verdict was equal: no spread to compute it from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from ragledger.model import ActorKind

from .ballots import number_of, verdict
from .facts import VoteFact, VotesFact
from .interval import CONFIDENCE, Interval, clustered
from .precision import sums_of
from .ranges import Range, range_of
from .student import t_quantile

__all__ = ["Agreed", "Pair", "agreed", "kappa", "pairs"]

Pair = tuple[bool, bool]
"""The verdicts of the one and of the other kind on one hit."""


class Agreed(Struct, frozen=True, kw_only=True):
    """What two kinds said of the hits that both judged; `split` hits have no verdict by one of the kinds."""

    hits: int
    split: int
    searches: int
    equal: int
    both_useful: int
    first_only: int
    second_only: int
    share: float | None
    interval: Range | None
    kappa: float | None
    kappa_interval: Range | None


def pairs(
    facts: Sequence[VotesFact], first: ActorKind, second: ActorKind
) -> tuple[list[tuple[list[Pair], int]], int]:
    """Per search (with how many were judged so) the verdicts of both kinds on the same hits; and how many hits are split."""
    found, split = [], 0
    for fact in facts:
        one, other = _by_rank(fact, first), _by_rank(fact, second)
        said = [(verdict(one[rank]), verdict(other[rank])) for rank in one.keys() & other.keys()]
        clear = [(a, b) for a, b in said if a is not None and b is not None]
        split += (len(said) - len(clear)) * fact.n
        if clear:
            found.append((clear, fact.n))
    return found, split


def agreed(searches: Sequence[tuple[list[Pair], int]], split: int = 0) -> Agreed:
    """How far the two kinds agree."""
    table = {pair: sum(said.count(pair) * n for said, n in searches) for pair in _PAIRS}
    hits = sum(table.values())
    equal = table[True, True] + table[False, False]
    found = kappa(table)
    return Agreed(
        hits=hits,
        split=split,
        searches=sum(n for _, n in searches),
        equal=equal,
        both_useful=table[True, True],
        first_only=table[True, False],
        second_only=table[False, True],
        share=equal / hits if hits else None,
        interval=range_of(_share_interval(searches)),
        kappa=found,
        kappa_interval=None if found is None else _kappa_interval(searches, table, found),
    )


_PAIRS: tuple[Pair, ...] = ((True, True), (True, False), (False, True), (False, False))


def kappa(table: dict[Pair, int]) -> float | None:
    """Cohen's kappa of counted verdicts, or None where chance alone would make them all equal."""
    hits = sum(table.values())
    if not hits:
        return None
    first, second, by_chance = _margins(table, hits)
    if {first, second} <= {0.0, 1.0} and first == second:
        return None
    return ((table[True, True] + table[False, False]) / hits - by_chance) / (1 - by_chance)


def _margins(table: dict[Pair, int], hits: int) -> tuple[float, float, float]:
    first = (table[True, True] + table[True, False]) / hits
    second = (table[True, True] + table[False, True]) / hits
    return first, second, first * second + (1 - first) * (1 - second)


def _share_interval(searches: Sequence[tuple[list[Pair], int]]) -> Interval | None:
    return clustered(sums_of((sum(a == b for a, b in said), len(said), n) for said, n in searches))


def _kappa_interval(
    searches: Sequence[tuple[list[Pair], int]], table: dict[Pair, int], found: float
) -> Range | None:
    hits, clusters = sum(table.values()), sum(n for _, n in searches)
    first, second, by_chance = _margins(table, hits)
    equal = (table[True, True] + table[False, False]) / hits
    moves = {
        (a, b): (
            ((a == b) - equal) / (1 - by_chance)
            - (1 - equal)
            / (1 - by_chance) ** 2
            * ((2 * second - 1) * (a - first) + (2 * first - 1) * (b - second))
        )
        / hits
        for a, b in _PAIRS
    }
    spread = math.fsum(math.fsum(moves[pair] for pair in said) ** 2 * n for said, n in searches)
    if clusters < 2 or equal == 1:
        return None
    half = t_quantile((1 + CONFIDENCE) / 2, clusters - 1) * math.sqrt(clusters / (clusters - 1) * spread)
    return Range(low=max(found - half, -1.0), high=min(found + half, 1.0))


def _by_rank(fact: VotesFact, kind: ActorKind) -> dict[int, VoteFact]:
    number = number_of(kind)
    return {vote.rank: vote for vote in fact.hits or () if vote.voter == number}
