"""Rates over searches: one search is one trial.

    hit rate       = ok searches with at least one real hit / ok searches
    degraded share = degraded searches / searches that ran
    skipped share  = skipped searches / searches that were due

Each has Wilson's interval (JASA 1927). It takes searches for independent: where one actor or one broken hour makes most of
them, it is too short.

A *real* hit is an admitted one that is not padding. Some lexical retrievers (LlamaIndex's BM25 is one) always
return k items and give the ones that do not match a score of 0; counting those would make every hit rate 1. So a hit
is *padding* when the lexical signal alone scored it, and with 0: lexical score 0, no vector score, no number among
its other signals, and a score of its own that is 0 or null. Unknown is not zero: a null lexical score is never
padding. The rule stands in the view `real_hits`.
"""

from __future__ import annotations

from statistics import NormalDist

from .interval import CONFIDENCE, wilson

__all__ = ["degraded_share", "hit_rate", "rate", "rate_interval"]

_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def rate(part: int, whole: int) -> float | None:
    """The share of the trials; None where there was none."""
    return part / whole if whole else None


def rate_interval(part: int, whole: int) -> tuple[float, float] | None:
    """Wilson's interval around it."""
    return wilson(part / whole, whole, _Z) if whole else None


def hit_rate(found: int, ok: int) -> float | None:
    """Of the searches that ended well, how many found anything; None when none ended well."""
    return rate(found, ok)


def degraded_share(degraded: int, ran: int) -> float | None:
    """Of the searches that ran, how many did so with something missing; None when none ran."""
    return rate(degraded, ran)
