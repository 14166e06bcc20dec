"""What the votes per rank say about the retriever: is the order good, are the weights wrong, is the index poor?

The ranks are two groups, the top (1 to `TOP`) and below. Four figures decide:

    top, below    useful / judged of each group, with the interval of `interval.py`
    difference    the mean over searches that were judged in both groups of (share below - share at the top), with the
                  interval of `macro.py` stretched from [0, 1] to [-1, 1]: the same question and the same eyes, so neither
                  hard questions nor strict voters can make it

and one rank more: the one below whose share is surely the highest (Wilson's lower bound at z = 3, since the best of many
is picked).

    weights_are_wrong   that rank is better than the top by at least `EQUAL`, and surely: the right chunk is found and
                        stands too low. Or the difference lies above 0. In both cases at most half of the top is useful
    index_is_poor       little is useful anywhere: the upper bound over all ranks is below `POOR`, no rank is surely
                        above it, and below was looked at
    order_says_little   the difference lies within -`EQUAL` to `EQUAL`: further down is as useful as the top
    order_is_good       the lower bound of the top is at least `GOOD`, or the difference lies below 0
    not_enough_votes    everything else, with what is missing

The first that holds is the verdict. A difference can be certain and too small to matter, so `EQUAL` comes before the others;
but where the lower bound of the top is at least 1 - `EQUAL`, no order can gain what matters, and the order is good.

Fewer than `actors.FEW` voters: the interval of the top is the wider one of that over searches and that over voters, as in
precision@3, and the index is poor only if both say so. The sums per voter of the other figures are not at hand, so their
intervals are over searches alone, and the first reason says so.

People judge what they look at (position bias; Joachims et al., SIGIR 2005), so counts of useful votes per rank say
little. A share of what was judged does not depend on how many looked, but those who vote far down may be those who found
something there. Where hits below are judged less than half as often as those at the top, the finding says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from msgspec import Struct

from .actors import FEW, wider
from .interval import Sums, clustered, wilson
from .macro import mean
from .precision import sums_of
from .ranges import Range, range_of

__all__ = ["TOP", "ByActor", "Difference", "Finding", "Level", "Split", "Verdict", "diagnose"]

TOP = 3
"""The ranks that a reader surely sees."""

GOOD, POOR, EQUAL = 0.5, 0.3, 0.15
LEAST_HITS, LEAST_SEARCHES, LEAST_BELOW = 30, 20, 10
_SURELY = 3.0

Verdict = Literal[
    "order_is_good", "weights_are_wrong", "index_is_poor", "order_says_little", "not_enough_votes"
]


class Split(NamedTuple):
    """What was judged in a search, as (rank, usefulness) from the top down, and how many searches were judged so."""

    hits: tuple[tuple[int, int | Fraction], ...]
    searches: int = 1

    def of(self, *, top: bool) -> list[tuple[int, int | Fraction]]:
        """The hits at the top, or those below."""
        return [(rank, useful) for rank, useful in self.hits if (rank <= TOP) == top]


class ByActor(NamedTuple):
    """The sums of `interval.py` with actors for clusters: at the top, and anywhere."""

    top: Sums | None = None
    anywhere: Sums | None = None


class Level(Struct, frozen=True, kw_only=True):
    """How useful a group of ranks was. `judged` of `shown` hits were judged, in `searches`."""

    shown: int
    judged: int
    useful: float
    searches: int
    share: float | None
    interval: Range | None


class Difference(Struct, frozen=True, kw_only=True):
    """Share below minus share at the top, the mean over the `searches` that were judged in both; and the top's share there."""

    searches: int
    mean: float | None
    interval: Range | None
    top_share: float | None


class Finding(Struct, frozen=True, kw_only=True):
    """The verdict with all that it rests on, by so many `actors`.

    `rank`: where the right chunk usually is when the top has none.
    """

    verdict: Verdict
    actors: int
    top: Level
    below: Level
    difference: Difference
    rank: int | None
    seldom_below: bool
    because: tuple[str, ...]


def diagnose(
    shown_top: int, shown_below: int, searches: Sequence[Split], by_actor: ByActor | None = None
) -> Finding:
    """The verdict on the searches of one epoch by one kind of voters."""
    groups = [_group(searches, top=True), _group(searches, top=False)]
    by = by_actor or ByActor()
    top, below = _level(shown_top, sums_of(groups[0]), by.top), _level(shown_below, sums_of(groups[1]))
    both = [(t, b) for t, b in zip(*groups, strict=True) if t[1] and b[1]]
    everything = sums_of(
        (sum(useful for _, useful in one.hits), len(one.hits), one.searches) for one in searches
    )
    best = _best_rank(searches, top)
    difference, rank = _difference(both), best or _usual_rank(searches)
    surely = max((low for _, low, _ in _ranks(searches)), default=0.0)
    poor = surely < POOR and below.judged >= LEAST_BELOW and _is_poor(everything, by.anywhere)
    figures = _Figures(top, below, difference, rank, everything, best, poor)
    seldom = _seldom(top, below)
    verdict, because = _verdict(figures)
    actors = by.anywhere.clusters if by.anywhere else 0
    because = (*_few(actors), *because)
    if seldom and below.judged:
        because = (*because, _SELDOM.format(below.judged, below.shown, top.judged, top.shown))
    return Finding(
        verdict=verdict,
        actors=actors,
        top=top,
        below=below,
        difference=difference,
        rank=rank,
        seldom_below=seldom,
        because=because,
    )


class _Figures(NamedTuple):
    top: Level
    below: Level
    difference: Difference
    rank: int | None
    everything: Sums
    best: int | None
    poor: bool


_SELDOM = (
    "below the top hits are judged much less often ({:,} of {:,} shown, against {:,} of {:,}): "
    "who votes there may be who found something there"
)
_TOO_FEW = "{:,} judged hits in {:,} searches; {} in {} are the least"


def _verdict(figures: _Figures) -> tuple[Verdict, tuple[str, ...]]:
    everything = figures.everything
    if everything.judged < LEAST_HITS or everything.clusters < LEAST_SEARCHES:
        few = _TOO_FEW.format(int(everything.judged), everything.clusters, LEAST_HITS, LEAST_SEARCHES)
        return "not_enough_votes", (few,)
    reasons: tuple[str, ...] = (
        _said(f"at ranks 1 to {TOP}", figures.top),
        _said("below", figures.below),
        _compared(figures.difference),
    )
    found = _from_figures(figures)
    if found == "weights_are_wrong" and figures.rank is not None:
        reasons = (f"the right chunk is usually at rank {figures.rank}", *reasons)
    return (found, reasons) if found else ("not_enough_votes", (*reasons, _missing(figures)))


def _from_figures(figures: _Figures) -> Verdict | None:
    top, difference = figures.top, figures.difference
    compared = difference.interval if difference.searches >= LEAST_BELOW else None
    if top.interval and top.interval.low >= 1 - EQUAL:
        return "order_is_good"
    if figures.best is not None:
        return "weights_are_wrong"
    if figures.poor:
        return "index_is_poor"
    found = _from_difference(compared, difference.top_share) if compared else None
    if found is None and top.interval and top.interval.low >= GOOD:
        return "order_is_good"
    return found


def _from_difference(compared: Range, top_share: float | None) -> Verdict | None:
    if compared.low >= -EQUAL and compared.high <= EQUAL:
        return "order_says_little"
    if compared.low > 0 and (top_share or 0.0) <= GOOD:
        return "weights_are_wrong"
    return "order_is_good" if compared.high < 0 else None


def _missing(figures: _Figures) -> str:
    if figures.difference.searches < LEAST_BELOW:
        return (
            f"only {figures.difference.searches:,} searches were judged both at the top and below, {LEAST_BELOW} are the "
            "least: what is further down is not known"
        )
    return "the intervals are too wide to tell the cases apart"


def _few(actors: int) -> tuple[str, ...]:
    if actors == 1:
        return ("one voter's opinion: nothing says how another would judge",)
    if 1 < actors < FEW:
        return (
            f"only {actors} voters: the interval at the top allows for that, the others are over searches alone",
        )
    return ()


def _is_poor(everything: Sums, by_actor: Sums | None) -> bool:
    few = by_actor is not None and 1 < by_actor.clusters < FEW
    found = [clustered(sums) for sums in (everything, by_actor if few else None) if sums is not None]
    return all(one is not None and one.high < POOR for one in found)


def _level(shown: int, sums: Sums, by_actor: Sums | None = None) -> Level:
    found, _ = wider(sums, by_actor)
    return Level(
        shown=shown,
        judged=int(sums.judged),
        useful=sums.useful,
        searches=sums.clusters,
        share=sums.useful / sums.judged if sums.judged else None,
        interval=range_of(found),
    )


_Counted = tuple["int | Fraction", int, int]
"""Useful, judged, searches."""


def _group(searches: Sequence[Split], *, top: bool) -> list[_Counted]:
    found = []
    for one in searches:
        hits = one.of(top=top)
        found.append((sum(useful for _, useful in hits), len(hits), one.searches))
    return found


def _ranks(searches: Sequence[Split]) -> list[tuple[int, float, float]]:
    """Each rank with Wilson's lower bound of its share, and the share; one search is one trial there."""
    useful: dict[int, float] = {}
    judged: dict[int, int] = {}
    for one in searches:
        for rank, value in one.hits:
            useful[rank] = useful.get(rank, 0.0) + float(value) * one.searches
            judged[rank] = judged.get(rank, 0) + one.searches
    return [(p, wilson(useful[p] / n, n, _SURELY)[0], useful[p] / n) for p, n in sorted(judged.items())]


def _best_rank(searches: Sequence[Split], top: Level) -> int | None:
    """The rank below that is surely better than the top, and by enough to matter."""
    if top.share is None or top.interval is None or top.share > GOOD:
        return None
    better = [
        (low, -rank)
        for rank, low, share in _ranks(searches)
        if rank > TOP and low > top.interval.high and share - top.share >= EQUAL
    ]
    return -max(better)[1] if better else None


def _difference(both: Sequence[tuple[_Counted, _Counted]]) -> Difference:
    rows = [
        (float(below[0]) / below[1] - float(top[0]) / top[1], float(top[0]) / top[1], top[2])
        for top, below in both
    ]
    count = sum(n for _, _, n in rows)
    if not count:
        return Difference(searches=0, mean=None, interval=None, top_share=None)
    _, _, interval = mean(((value + 1) / 2, n) for value, _, n in rows)
    return Difference(
        searches=count,
        mean=math.fsum(value * n for value, _, n in rows) / count,
        interval=None if interval is None else Range(low=2 * interval.low - 1, high=2 * interval.high - 1),
        top_share=math.fsum(share * n for _, share, n in rows) / count,
    )


def _usual_rank(searches: Sequence[Split]) -> int | None:
    """The median rank of the first useful hit below, over the searches whose judged top hits were all useless."""
    places = []
    for one in searches:
        top, below = one.of(top=True), one.of(top=False)
        first = next((rank for rank, useful in below if 2 * useful > 1), None)
        if top and first is not None and not any(useful for _, useful in top):
            places.append((first, one.searches))
    half, seen = sum(n for _, n in places) / 2, 0
    for place, n in sorted(places):
        seen += n
        if seen >= half:
            return place
    return None


def _seldom(top: Level, below: Level) -> bool:
    return bool(top.shown and below.shown) and 2 * below.judged / below.shown < top.judged / top.shown


def _said(where: str, level: Level) -> str:
    if level.share is None:
        return f"{where} nothing was judged of {level.shown:,} shown"
    return f"{where} {level.share:.0%}{_span(level.interval)} of {level.judged:,} judged hits are useful"


def _compared(difference: Difference) -> str:
    if difference.mean is None:
        return "no search was judged both at the top and below"
    word = "more" if difference.mean >= 0 else "less"
    found = difference.interval
    span = "" if found is None else f" ({found.low * 100:+.0f} to {found.high * 100:+.0f})"
    return (
        f"in the {difference.searches:,} searches judged both at the top and below, the hits below are useful "
        f"{abs(difference.mean) * 100:.0f} points {word} often{span}"
    )


def _span(interval: Range | None) -> str:
    return "" if interval is None else f" ({interval.low:.0%} to {interval.high:.0%})"
