"""Where to cut: what a threshold keeps of the judged hits, and how many candidates it lets through.

Votes fall on admitted hits only, so below the running threshold nothing is known of usefulness: a cut is only ever
raised. Other weights put the scores on another scale, so the running threshold is first carried over: the one that lets as
many candidates through. That needs every candidate with every signal; of truncated lists it would be an artefact.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from .interval import Sums, clustered
from .pairs import Floats, Ints, Truths

__all__ = ["FEWEST_USEFUL", "KEPT", "Cut", "cut"]

KEPT = 0.95
"""Share of the useful hits that a suggested threshold keeps."""
FEWEST_USEFUL = 50


class Cut(Struct, frozen=True, kw_only=True):
    """`suggested` is on the scale of the suggested weights, and so is `same_number`, the running threshold carried over.

    `useful_kept` of `useful` judged hits (with its interval by question), `dropped` of `not_useful` ones; candidates
    let through per search, by the running threshold and by the suggested one, over `searches` with complete signals.
    """

    running: float
    same_number: float
    suggested: float
    useful: int
    useful_kept: float
    low: float | None
    high: float | None
    not_useful: int
    dropped: float | None
    searches: int
    running_candidates: float
    suggested_candidates: float


def cut(
    judged: tuple[Floats, Truths, Ints], candidates: tuple[Floats, Floats], searches: int, running: float
) -> Cut | None:
    """The highest threshold that keeps 95 % of the useful hits, and not below the running one carried over.

    Args:
        judged: scores under the suggested weights, whether the hit was useful, its question (counted from 0).
        candidates: scores of all candidates under the running weights, and under the suggested ones.
        searches: that the candidates are of.
        running: the threshold in force, on the scale of the running weights.
    """
    scores, useful, question = judged
    if useful.sum() < FEWEST_USEFUL or not len(candidates[0]):
        return None
    let_through = int((candidates[0] >= running).sum())
    same = _largest(candidates[1], let_through)
    keeps = _largest(scores[useful], int(np.ceil(KEPT * useful.sum())))
    suggested = max(same, keeps)
    kept = scores >= suggested
    many = np.bincount(question[useful], minlength=question.max() + 1)
    of_them = np.bincount(question[useful & kept], minlength=question.max() + 1)
    interval = clustered(Sums.of(zip(of_them.tolist(), many.tolist(), strict=True)))
    bad = int((~useful).sum())
    return Cut(
        running=running,
        same_number=same,
        suggested=suggested,
        useful=int(useful.sum()),
        useful_kept=float(kept[useful].mean()),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        not_useful=bad,
        dropped=float((~kept[~useful]).mean()) if bad else None,
        searches=searches,
        running_candidates=let_through / searches,
        suggested_candidates=float((candidates[1] >= suggested).sum()) / searches,
    )


def _largest(scores: Floats, many: int) -> float:
    """The score of the last one among so many of the largest."""
    place = max(len(scores) - many, 0)
    return float(np.partition(scores, place)[place]) if many else float(scores.max())
