"""What ranked answers are worth against judgments. The arithmetic is that of ir_measures; this module says what is asked.

    nDCG@10           gain 2^grade - 1 over log2(rank + 1)
    P@k, R@10         useful ones among the first k, divided by k, by all useful ones
    RR, AP            over everything that was returned
    Bpref             useful ones by how many judged not useful ones stand above them (Buckley & Voorhees, SIGIR 2004)
    P@10 condensed    P@10 after what is not judged was taken out of the list (Sakai, SIGIR 2007): it still divides by 10
    Judged@10         judged ones of what was shown among the first 10

P@k counts what is not judged as not useful, so it is a lower bound: read Judged@10 beside it. Where ir_measures says 0
because there is nothing to find or to divide by, this module says None: a question of which nothing useful is known
has none of these but Judged@10 (TREC leaves such topics out), an answer of which nothing is judged has no condensed list,
and where nothing was shown there is no Judged@10.

Needs the extra `analysis`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .interval import CONFIDENCE, wilson
from .student import t_quantile

__all__ = ["MEASURES", "Interval", "Mean", "first_useful", "mean", "measured", "share", "summed"]

Judgments = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Sequence[str]]

MEASURES = (
    "nDCG@10",
    "P@1",
    "P@3",
    "P@5",
    "P@10",
    "P@10 condensed",
    "R@10",
    "RR",
    "AP",
    "Bpref",
    "Judged@10",
)
_OF_USEFUL = frozenset(MEASURES) - {"nDCG@10", "Judged@10"}
_SHARES = frozenset({"P@1"})
"""0 or 1 for each question, so that the mean is a share of the questions."""
_FEWEST = 5
_UPPER = (1 + CONFIDENCE) / 2


class Interval(NamedTuple):
    """Of 95 %."""

    low: float
    high: float


class Mean(NamedTuple):
    """Over the `n` questions that have a value."""

    value: float | None
    n: int
    interval: Interval | None


def measured(judgments: Judgments, run: Run, cut: int) -> dict[str, dict[str, float | None]]:
    """Every measure of every question of `run`; `cut` is the lowest grade that is useful.

    `run` holds ids, best first, each once. A question of it that is not in `judgments` is one without judgments.
    """
    import ir_measures

    asked = {question: dict(judgments.get(question, {})) for question in run}
    shown = {question: _scored(ids) for question, ids in run.items()}
    found: dict[str, dict[str, float | None]] = {question: dict.fromkeys(MEASURES) for question in run}
    names = {measure: name for name, measure in _measures(cut).items()}
    # ir_measures divides Judged@k by what was shown, also where that is nothing: it is not asked there.
    on_shown = {question: ids for question, ids in shown.items() if ids}
    judged = [measure for measure, name in names.items() if name == "Judged@10"]
    others = [measure for measure in names if measure not in judged]
    for measures, part in ((others, shown), (judged, on_shown)):
        for value in ir_measures.iter_calc(measures, asked, part) if part else ():
            if value.query_id in part:
                found[value.query_id][names[value.measure]] = float(value.value)
    for question, grades in asked.items():
        _forget_undefined(found[question], grades, cut)
        if run[question] and grades.keys().isdisjoint(run[question]):
            found[question]["P@10 condensed"] = None
    return found


def first_useful(ids: Sequence[str], useful: frozenset[str]) -> int | None:
    """The rank of the first useful one; None when none was returned."""
    return next((rank for rank, each in enumerate(ids, start=1) if each in useful), None)


def summed(measure: str, values: Sequence[float | None]) -> Mean:
    """The mean over questions, with the interval of a share where each of them is a yes or a no."""
    found = mean(values)
    if measure not in _SHARES:
        return found
    return found._replace(interval=share(round((found.value or 0) * found.n), found.n))


def mean(values: Sequence[float | None]) -> Mean:
    """The mean over questions, with the interval of Student's t: one question is one draw.

    No interval below five questions, nor where all have the same value: what does not vary says nothing of how far off
    the mean may be.
    """
    known = [value for value in values if value is not None]
    n = len(known)
    if not n:
        return Mean(None, 0, None)
    centre = statistics.fmean(known)
    if n < _FEWEST or min(known) == max(known):
        return Mean(centre, n, None)
    reach = t_quantile(_UPPER, n - 1) * statistics.stdev(known) / math.sqrt(n)
    return Mean(centre, n, Interval(max(0.0, centre - reach), min(1.0, centre + reach)))


def share(n: int, of: int) -> Interval | None:
    """Wilson's interval of a share; None of nothing."""
    if not of:
        return None
    return Interval(*wilson(n / of, of, statistics.NormalDist().inv_cdf(_UPPER)))


def _measures(cut: int) -> dict[str, Any]:
    from ir_measures import AP, RR, Bpref, Judged, P, R, nDCG

    gains = {grade: 2**grade - 1 for grade in range(4)}
    return {
        "nDCG@10": nDCG(gains=gains) @ 10,
        "P@1": P(rel=cut) @ 1,
        "P@3": P(rel=cut) @ 3,
        "P@5": P(rel=cut) @ 5,
        "P@10": P(rel=cut) @ 10,
        "P@10 condensed": P(rel=cut, judged_only=True) @ 10,
        "R@10": R(rel=cut) @ 10,
        "RR": RR(rel=cut),
        "AP": AP(rel=cut),
        "Bpref": Bpref(rel=cut),
        "Judged@10": Judged @ 10,
    }


def _scored(ids: Sequence[str]) -> dict[str, float]:
    """The order is the retriever's: scores that say it, because trec_eval sorts by score and breaks ties by id."""
    return {each: float(len(ids) - place) for place, each in enumerate(ids)}


def _forget_undefined(values: dict[str, float | None], grades: Mapping[str, int], cut: int) -> None:
    if not any(grade >= cut for grade in grades.values()):
        values.update(dict.fromkeys(_OF_USEFUL))
    if not any(grades.values()):
        values["nDCG@10"] = None
