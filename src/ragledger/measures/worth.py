"""What an assessment is worth: does its value tell the searches that people found useful from the others?

    useful search = at least half of its judged hits at ranks 1 to 3 are useful
    AUC           = how often, of a useful and of another search, the useful one has the higher value (`auc.py`)
    Brier score   = the mean of (value - share)^2, the share being that of the judged hits at 1 to 3; for values in [0, 1]

A search without a judged hit at ranks 1 to 3 is no case. The verdict:

    not_enough_votes    fewer than 20 useful or 20 other searches, or an interval that holds 0.5 and is wider than 0.2
    does_not_predict    the interval of the AUC holds 0.5
    predicts_backwards  it lies below 0.5: the value is lower where votes are better
    ranks               it lies above 0.5, and the values are no probabilities: outside of [0, 1], or in one of five groups of
                        searches with rising values the interval of the useful share does not hold the mean value
    ranks_at_least      it lies above 0.5, no group contradicts the values, and some interval reaches further than 0.1 from
                        its share: too few votes to say whether the values are probabilities
    calibrated          it lies above 0.5, no group contradicts the values, and every interval is that narrow

Five intervals are looked at, so each has 99 %: then all five hold in at least 95 % of the cases where the value is right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from .auc import Case, auc, auc_interval
from .facts import AssessedFact
from .interval import CONFIDENCE, Sums, clustered
from .ranges import Range, range_of

__all__ = ["GROUPS", "LEAST", "Group", "Worth", "WorthVerdict", "worth"]

LEAST = 20
GROUPS = 5
_HALF, _WIDE = 0.5, 0.2
_NARROW = 0.1

WorthVerdict = Literal[
    "calibrated", "ranks_at_least", "ranks", "does_not_predict", "predicts_backwards", "not_enough_votes"
]


class Group(Struct, frozen=True, kw_only=True):
    """Searches with neighbouring values: the mean value, and how useful they were."""

    searches: int
    value: float
    share: float
    interval: Range | None


class Worth(Struct, frozen=True, kw_only=True):
    """How well the values go with the votes; `clusters` are sessions, and searches outside of any."""

    verdict: WorthVerdict
    searches: int
    useful: int
    clusters: int
    auc: float | None
    interval: Range | None
    brier: float | None
    brier_of_the_mean: float | None
    groups: tuple[Group, ...]


def worth(facts: Sequence[AssessedFact]) -> Worth:
    """Of one assessment in one epoch by one kind of voters."""
    cases = [Case(fact.value, 2 * fact.useful >= fact.judged, fact.cluster) for fact in facts]
    useful = sum(case.positive for case in cases)
    area, interval = auc(cases), range_of(auc_interval(cases))
    within = bool(facts) and all(0.0 <= fact.value <= 1.0 for fact in facts)
    groups = _groups(facts) if within and len(facts) >= GROUPS else ()
    return Worth(
        verdict=_verdict(interval, min(useful, len(cases) - useful), groups),
        searches=len(cases),
        useful=useful,
        clusters=len({case.cluster for case in cases}),
        auc=area,
        interval=interval,
        brier=_brier(facts) if within else None,
        brier_of_the_mean=_brier_of_the_mean(facts) if within else None,
        groups=groups,
    )


def _verdict(interval: Range | None, fewer: int, groups: Sequence[Group]) -> WorthVerdict:
    if interval is None or fewer < LEAST:
        return "not_enough_votes"
    low, high = interval.low, interval.high
    if low > _HALF:
        return _of_its_values(groups)
    if high < _HALF:
        return "predicts_backwards"
    return "not_enough_votes" if high - low > _WIDE else "does_not_predict"


def _of_its_values(groups: Sequence[Group]) -> WorthVerdict:
    if not groups or not all(map(_holds, groups)):
        return "ranks"
    return "calibrated" if all(map(_is_narrow, groups)) else "ranks_at_least"


def _is_narrow(group: Group) -> bool:
    found = group.interval
    return found is not None and max(group.share - found.low, found.high - group.share) <= _NARROW


def _holds(group: Group) -> bool:
    return group.interval is not None and group.interval.low <= group.value <= group.interval.high


def _share(fact: AssessedFact) -> float:
    return fact.useful / fact.judged


def _brier(facts: Sequence[AssessedFact]) -> float:
    return math.fsum((fact.value - _share(fact)) ** 2 for fact in facts) / len(facts)


def _brier_of_the_mean(facts: Sequence[AssessedFact]) -> float:
    mean = math.fsum(map(_share, facts)) / len(facts)
    return math.fsum((mean - _share(fact)) ** 2 for fact in facts) / len(facts)


def _groups(facts: Sequence[AssessedFact]) -> tuple[Group, ...]:
    ordered = sorted(facts, key=lambda fact: fact.value)
    bounds = [len(ordered) * step // GROUPS for step in range(GROUPS + 1)]
    return tuple(_group(ordered[low:high]) for low, high in itertools.pairwise(bounds))


def _group(facts: Sequence[AssessedFact]) -> Group:
    by_cluster: dict[int, tuple[float, int]] = {}
    for fact in facts:
        useful, searches = by_cluster.get(fact.cluster, (0.0, 0))
        by_cluster[fact.cluster] = (useful + _share(fact), searches + 1)
    sums = Sums.of(by_cluster.values())
    found = clustered(sums, 1 - (1 - CONFIDENCE) / GROUPS)
    return Group(
        searches=len(facts),
        value=math.fsum(fact.value for fact in facts) / len(facts),
        share=sums.useful / sums.judged,
        interval=range_of(found),
    )
