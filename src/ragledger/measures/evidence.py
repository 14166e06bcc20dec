"""What the votes of a window say about weights: pairs with complete signals, and a count of everything left out.

Pure: the facts come from `sql/calibrate.sql`. A hit is useful where more than half of its voters say so; where exactly
half of them do it is neither, and counted. A signal that was not scored is unknown, so a pair with such a hit is left
out, unless the caller imputes 0 on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from msgspec import Struct

from .calibration import Excluded, PairCounts, Used
from .facts import EpochFact
from .pairs import Floats, Ints, Pairs, Truths, ordered, pairs_of, within_searches
from .refusion import Fusion, Unreadable, features, ranges_of

__all__ = ["Evidence", "HitFact", "Judged", "SearchFact", "evidence"]

_REASONS = Excluded.__struct_fields__


class SearchFact(Struct, frozen=True, array_like=True):
    """A search with a vote. `candidates`: a fingerprint of what it found, by ids and rounded scores; None: nothing."""

    search_id: UUID
    epoch: str
    index_version: str | None
    embedding_model: str | None
    degraded: bool
    capped: bool
    query_key: bytes | None
    signals: dict[str, dict[str, Any]] | None
    candidates: str | None = None


class HitFact(Struct, frozen=True, array_like=True, gc=False):
    """A judged hit: how many actors judged it, how many of them found it useful, what each signal said."""

    search_id: UUID
    rank: int
    votes: int
    useful: int
    actors: list[str | None]
    said: list[float | None]


class Judged(NamedTuple):
    """Judged hits with complete signals, those of one-sided searches too: for a threshold they count."""

    features: Floats
    useful: Truths
    question: Ints


class Evidence(NamedTuple):
    """`scale` is what a unit of each signal's gap is: weights are searched for where all signals weigh alike."""

    pairs: Pairs
    scale: Floats
    judged: Judged
    excluded: Excluded
    counts: PairCounts
    used: Used
    eligible: Ints


def evidence(
    searches: Sequence[SearchFact],
    hits: Sequence[HitFact],
    fusions: Mapping[str, Fusion | Unreadable],
    current: EpochFact,
    *,
    impute_zero: bool = False,
) -> Evidence:
    """The pairs for the fusion of the current epoch. Raises KeyError where that cannot be read."""
    fusion = fusions[current.epoch]
    assert isinstance(fusion, Fusion)
    fused = {name: _fused_otherwise(own, fusion) for name, own in fusions.items()}
    reasons = [_reason(search, fused[search.epoch], current, fusion) for search in searches]
    place = {search.search_id: number for number, search in enumerate(searches)}
    kept = [hit for hit in hits if reasons[place[hit.search_id]] is None]
    told = [hit for hit in kept if 2 * hit.useful != hit.votes]
    search = np.array([place[hit.search_id] for hit in told], dtype=np.int64)
    useful = np.array([2 * hit.useful > hit.votes for hit in told], dtype=np.bool_)
    added = _added(told, search, searches, fusion)
    left, right = within_searches(search, useful)
    lacking = int(np.isnan(added[left] - added[right]).any(axis=1).sum())
    if impute_zero:
        added = np.nan_to_num(added, nan=0.0)
    complete = ~np.isnan(added[left] - added[right]).any(axis=1)
    reasons = _paired(reasons, search[left], search[left[complete]])
    question, unkeyed = _questions(searches)
    left, right, found = left[complete], right[complete], len(left)
    pairs, scale = _pairs(added[left] - added[right], question[search[left]], fusion)
    whole = ~np.isnan(added).any(axis=1)
    used = [told[number] for number in np.unique(np.concatenate([left, right]))]
    counts = (found, 0, lacking) if impute_zero else (found, lacking, 0)
    return Evidence(
        pairs=pairs,
        scale=scale,
        judged=Judged(added[whole], useful[whole], question[search[whole]]),
        excluded=Excluded(**{name: reasons.count(name) for name in _REASONS}),
        counts=PairCounts(*counts, len(kept) - len(told)),
        used=_used(used, search[left], question, unkeyed),
        eligible=np.unique(search[whole]),
    )


def _added(hits: Sequence[HitFact], search: Ints, searches: Sequence[SearchFact], fusion: Fusion) -> Floats:
    """What each signal adds to each hit; the ranges are those of its search."""
    said = np.array([hit.said for hit in hits], dtype=np.float64).reshape(len(hits), len(fusion.names))
    ranges = np.array([ranges_of(each.signals, fusion) for each in searches]).reshape(
        len(searches), len(fusion.names), 2
    )
    return features(said, ranges[search], fusion)


def _pairs(gaps: Floats, question: Ints, fusion: Fusion) -> tuple[Pairs, Floats]:
    """The pairs with gaps of deviation 1, and what they were divided by."""
    scale = gaps.std(axis=0) if len(gaps) else np.ones(len(fusion.names))
    scale = np.where(scale > 0, scale, 1.0)
    return pairs_of(gaps / scale, question, ordered(gaps, np.array(fusion.weights))), scale


def _fused_otherwise(own: Fusion | Unreadable, fusion: Fusion) -> str | None:
    if not isinstance(own, Fusion):
        return "not_effective"
    return None if own.like(fusion) else "other_fusion"


def _reason(search: SearchFact, fused: str | None, current: EpochFact, fusion: Fusion) -> str | None:
    """Why a search is left out, as far as it says so itself: the first of the reasons in their order."""
    if search.index_version != current.index_version or search.embedding_model != current.embedding_model:
        return "other_index"
    if search.degraded:
        return "degraded"
    if fused is not None:
        return fused
    scored = search.signals or {}
    if any(f"{name}@2" in scored for name in fusion.names):
        return "several_queries"
    if search.capped and fusion.kind == "reciprocal_rank":
        return "capped"
    return None if sum(name in scored for name in fusion.names) > 1 else "single_signal"


def _paired(reasons: list[str | None], any_pair: Ints, complete_pair: Ints) -> list[str | None]:
    """The reasons, with those of searches of which no pair can be used."""
    with_pair, with_complete = set(any_pair.tolist()), set(complete_pair.tolist())
    return [
        reason or (None if number in with_complete else "missing_leg" if number in with_pair else "one_sided")
        for number, reason in enumerate(reasons)
    ]


def _questions(searches: Sequence[SearchFact]) -> tuple[Ints, Truths]:
    """A number per search, equal where the question is; and which searches do not tell.

    Searches without a key that found the same with the same scores asked the same, as far as anybody can tell.
    """
    numbers: dict[object, int] = {}
    known: dict[str | None, bytes] = {
        each.candidates: each.query_key for each in searches if each.query_key is not None and each.candidates
    }
    keys = [
        each.query_key or known.get(each.candidates) or each.candidates or each.search_id for each in searches
    ]
    found = [numbers.setdefault(key, len(numbers)) for key in keys]
    return np.array(found, dtype=np.int64), np.array(
        [each.query_key is None for each in searches], dtype=np.bool_
    )


def _used(hits: Sequence[HitFact], by_search: Ints, question: Ints, unkeyed: Truths) -> Used:
    searches = np.unique(by_search)
    return Used(
        searches=len(searches),
        hits=len(hits),
        pairs=len(by_search),
        questions=len(np.unique(question[searches])),
        votes=sum(hit.votes for hit in hits),
        # Actors without an id cannot be told apart: together they are one.
        actors=len({actor for hit in hits for actor in hit.actors}),
        unkeyed=int(unkeyed[searches].sum()),
    )
