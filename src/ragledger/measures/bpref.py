"""bpref of one search: how seldom a hit that was judged useless stands above one that was judged useful.

    bpref = 1/R  sum over useful hits r of  1 - min(n above r, R) / min(R, N)

R: useful hits, N: useless ones, n above r: useless ones above r; unjudged hits count for nothing. Buckley & Voorhees,
"Retrieval evaluation with incomplete information", SIGIR 2004, in the form that trec_eval computes. (ranx divides by R
where this divides by min(R, N): the two differ when there are fewer useless hits than useful ones.)

It needs one hit of each kind: with none to be above another there is no order to judge, where trec_eval says 0 (R = 0)
or 1 (N = 0). And R counts the hits that were returned; a test collection's also counts what was missed.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bpref"]


def bpref(verdicts: Sequence[bool]) -> float | None:
    """Of the verdicts on the judged hits, from the first rank down; None without one of each kind."""
    useful = sum(verdicts)
    useless = len(verdicts) - useful
    if not useful or not useless:
        return None
    above, total = 0, 0.0
    for said in verdicts:
        if said:
            total += 1 - min(above, useful) / min(useful, useless)
        else:
            above += 1
    return total / useful
