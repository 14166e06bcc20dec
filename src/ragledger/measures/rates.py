"""Rates over searches: one search is one trial.

    hit rate       = ok searches with at least one real hit / ok searches
    degraded share = degraded searches / searches that ran
    skipped share  = skipped searches / searches that were due

A *real* hit is an admitted one that is not padding. Some lexical retrievers (LlamaIndex's BM25 is one) always
return k items and give the ones that do not match a score of 0; counting those would make every hit rate 1. So a hit
is *padding* when the lexical signal alone scored it, and with 0: lexical score 0, no vector score, no number among
its other signals, and a score of its own that is 0 or null. Unknown is not zero: a null lexical score is never
padding. The rule stands in `sql/measure.sql`, query `groups`.
"""

from __future__ import annotations

__all__ = ["degraded_share", "hit_rate", "skipped_share"]


def hit_rate(found: int, ok: int) -> float | None:
    """Of the searches that ended well, how many found anything; None when none ended well."""
    return _share(found, ok)


def degraded_share(degraded: int, ran: int) -> float | None:
    """Of the searches that ran, how many did so with something missing; None when none ran."""
    return _share(degraded, ran)


def skipped_share(skipped: int, due: int) -> float | None:
    """Of the searches that were due, how many were not made; None when none was due."""
    return _share(skipped, due)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
