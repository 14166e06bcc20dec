"""Questions that the corpus does not answer: grouped by the keyed hash of the question, no text.

Each search with a key has one outcome, the first that fits:

    empty           it found nothing
    only_padding    nothing but hits that only the lexical signal scored, and with 0
    useful          somebody found a hit useful
    nothing_useful  hits were judged, and none was useful
    low_score       nobody judged, and its best score is in the lowest tenth of its epoch: scores of two epochs do not compare
    untold          nobody knows what came back
    unjudged        none of these: not known to be bad

The first two, `nothing_useful` and `low_score` are gaps. A question is one when more of its searches are gaps than useful.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragledger.model import ActorKind

from .document_funnel import KINDS
from .sightings import Reaction, Sightings

__all__ = ["GAPS", "LOWEST", "OUTCOMES", "SMALLEST_EPOCH", "GapQuery", "gap_queries", "low_scores"]

OUTCOMES = ("empty", "only_padding", "nothing_useful", "low_score", "useful", "unjudged", "untold")
GAPS = OUTCOMES[:4]
LOWEST = 0.1
"""The share of an epoch's searches whose best score counts as low."""
SMALLEST_EPOCH = 20
"""Searches with a score that an epoch must have, before any of them is called low."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapQuery:
    """One question. `outcomes` counts its searches by outcome."""

    query_key: bytes
    searches: int
    outcomes: dict[str, int]
    voters: tuple[ActorKind, ...]
    surfaces: tuple[str | None, ...]
    corpora: tuple[str, ...]
    epochs: tuple[str, ...]
    first_seen: float
    last_seen: float

    @property
    def gaps(self) -> int:
        return sum(self.outcomes[outcome] for outcome in GAPS)


def gap_queries(sightings: Sightings, reactions: Sequence[Reaction], useful_from: int) -> list[GapQuery]:
    """The questions that are gaps, worst first."""
    votes: dict[int, tuple[bool, set[str]]] = {}
    for reaction in reactions:
        if reaction.outcome is not None:
            useful, kinds = votes.get(reaction.search, (False, set()))
            votes[reaction.search] = useful or reaction.outcome >= useful_from, kinds | {reaction.kind}
    low = low_scores(sightings)
    members: dict[int, list[int]] = {}
    for search in np.flatnonzero(sightings.query >= 0).tolist():
        members.setdefault(int(sightings.query[search]), []).append(search)
    found = [_query(sightings, number, searches, votes, low) for number, searches in members.items()]
    gaps = [query for query in found if query.gaps > query.outcomes["useful"]]
    return sorted(gaps, key=lambda query: (-query.gaps, -query.last_seen, query.query_key))


def low_scores(sightings: Sightings) -> Any:
    """Which searches are among the worst of their epoch, by their best score. Ties with the last of them are not low."""
    low = np.zeros(len(sightings.epoch), dtype=bool)
    known = ~np.isnan(sightings.top_score)
    for epoch in np.unique(sightings.epoch[known]).tolist():
        inside = np.flatnonzero(known & (sightings.epoch == epoch))
        if len(inside) >= SMALLEST_EPOCH:
            scores = sightings.top_score[inside]
            cut = np.sort(scores)[math.ceil(LOWEST * len(scores))]
            low[inside] = scores < cut
    return low


def _query(
    sightings: Sightings, number: int, searches: list[int], votes: dict[int, tuple[bool, set[str]]], low: Any
) -> GapQuery:
    outcomes = dict.fromkeys(OUTCOMES, 0)
    voters: set[str] = set()
    for search in searches:
        outcomes[_outcome(sightings.answer[search], votes.get(search), is_low=bool(low[search]))] += 1
        voters |= votes[search][1] if search in votes else set()
    started = sightings.started[searches]
    surfaces = {sightings.surfaces[code] for code in sightings.surface[searches].tolist()}
    return GapQuery(
        query_key=sightings.queries[number],
        searches=len(searches),
        outcomes=outcomes,
        voters=tuple(kind for kind in KINDS if kind in voters),
        surfaces=tuple(sorted(surfaces, key=lambda name: (name is None, name or ""))),
        corpora=tuple(sorted({sightings.corpora[code] for code in sightings.corpus[searches].tolist()})),
        epochs=tuple(sorted({sightings.epochs[code] for code in sightings.epoch[searches].tolist()})),
        first_seen=float(started.min()),
        last_seen=float(started.max()),
    )


def _outcome(answer: str | None, votes: tuple[bool, set[str]] | None, *, is_low: bool) -> str:
    if answer == "empty":
        return "empty"
    if answer == "padded":
        return "only_padding"
    if votes is not None:
        return "useful" if votes[0] else "nothing_useful"
    if answer == "untold":
        return "untold"
    return "low_score" if is_low else "unjudged"
