"""A curation as the values that are shown: the documents that were chosen, and everything that the numbers rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timezone

import msgspec
import numpy as np

from ragledger.measures.curation import SUGGESTIONS, Class, Earlier, verdicts
from ragledger.measures.curation_reasons import reason
from ragledger.measures.curation_report import (
    ClassCount,
    Curation,
    Document,
    EarlierCounts,
    EpochSeen,
    GapReport,
    InventoryReport,
    KeptReport,
    Question,
    ReindexReport,
    VoterTotal,
    Votes,
)
from ragledger.measures.document_funnel import KINDS
from ragledger.measures.gaps import GapQuery
from ragledger.measures.reindex import SAME, SEVERAL, UNKEYED, UNSEEN
from ragledger.measures.sightings import BEYOND, NOWHERE
from ragledger.model import ActorKind

from .curation import Curated, Judged

__all__ = ["report"]

SCHEMA = 1
_MOVED = -1
_NO_KEYS = (
    "not measured: no search of this window has a key of its question. Switch them on with "
    "ragledger.open(query_keys=True) or RAGLEDGER_QUERY_KEYS=1: a keyed hash of each question, no text"
)


def report(curated: Curated, *, limit: int | None = None, classes: Collection[Class] = ()) -> Curation:
    """Those of `classes` (all when there are none), the first `limit` of them, and of the gap queries."""
    chosen = [one for one in curated.documents if not classes or one.found in classes]
    counts = Counter(one.found for one in curated.documents)
    kept = curated.kept
    return Curation(
        schema=SCHEMA,
        unit="chunk" if curated.by_chunk else "document",
        useful_from=curated.useful_from,
        window={
            name: bound for name, bound in msgspec.structs.asdict(curated.window).items()
        } | {"first_search": _moment(curated.sightings.started.min()), "last_search": _moment(curated.sightings.started.max())},
        least={name: getattr(curated.least, name) for name in curated.least.__slots__},
        searches=len(curated.sightings.corpus),
        unnamed_hits=curated.sightings.unnamed,
        kept=KeptReport(
            removed_records=kept.removed_records, complete_since=kept.complete_since, why=kept.why
        ),
        inventory=_inventory(curated),
        reindex=_reindex(curated),
        epochs=tuple(
            EpochSeen(epoch=epoch, searches=searches, first_seen=first, last_seen=last)
            for epoch, searches, first, last in sorted(curated.epochs, key=lambda row: (row[2], row[0]))
        ),
        voters=_voters(curated),
        accesses=sum(one.funnel.accessed for one in curated.documents),
        total=len(curated.documents),
        classes={
            found.value: ClassCount(n=counts[found], suggestion=SUGGESTIONS.get(found)) for found in Class
        },
        chosen=len(chosen),
        documents=tuple(_documents(curated, chosen[:limit])),
        gaps=_gaps(curated, limit),
    )  # fmt: skip


def _documents(curated: Curated, chosen: Sequence[Judged]) -> list[Document]:
    places = _places(curated, [one.number for one in chosen if one.number is not None])
    documents = []
    for one in chosen:
        funnel, said = one.funnel, verdicts(one.funnel, curated.least)
        successors = () if one.number is None else curated.moves.successors.get(one.number, ())
        documents.append(
            Document(
                corpus=one.corpus, id=one.id, class_=one.found.value, suggestion=one.suggestion,
                reason=reason(one.found, funnel, one.standing, curated.least),
                retrieved=funnel.retrieved, admitted=funnel.admitted, shown=funnel.shown, accessed=funnel.accessed,
                expected_accessed=funnel.expected_accessed if funnel.shown else None,
                shown_at=places.get(one.number, {}) if one.number is not None else {},
                first_retrieved=_moment(funnel.first), last_retrieved=_moment(funnel.last),
                votes={
                    kind: Votes(
                        judged=votes.votes, useful=votes.useful, not_useful=votes.not_useful, actors=votes.actors,
                        actors_against=votes.against,
                        verdict=said.get(kind), expected_useful=votes.expected,
                        useful_over_expected=votes.over_expected,
                    )
                    for kind, votes in funnel.said.items()
                },
                earlier=_earlier(one.standing.earlier),
                replaced_by=tuple(sorted(curated.sightings.units[other][1] for other in successors)),
            )
        )  # fmt: skip
    return documents


def _places(curated: Curated, numbers: Sequence[int]) -> dict[int, dict[str, int]]:
    """How often each of some units was shown at which rank."""
    pairs = curated.pairs
    wanted = np.zeros(len(curated.sightings.units), dtype=bool)
    wanted[list(numbers)] = True
    found: dict[int, Counter[int]] = {number: Counter() for number in numbers}
    at = np.flatnonzero(wanted[pairs.unit.astype(np.int64)] & (pairs.place != NOWHERE))
    for unit, place in zip(pairs.unit[at].tolist(), pairs.place[at].tolist(), strict=True):
        found[unit][place] += 1
    return {
        number: {
            f"{place}+" if place == BEYOND else str(place): times for place, times in sorted(shown.items())
        }
        for number, shown in found.items()
    }


def _earlier(earlier: Earlier | None) -> EarlierCounts | None:
    if earlier is None:
        return None
    return EarlierCounts(
        source="rollup_document_days", retrieved=earlier.retrieved, admitted=earlier.admitted,
        accessed=earlier.accessed, judged=earlier.judged, useful=earlier.useful, not_useful=earlier.not_useful,
        last_day=datetime.fromtimestamp(earlier.last_day, timezone.utc),
    )  # fmt: skip


def _inventory(curated: Curated) -> InventoryReport | None:
    inventory = curated.inventory
    if inventory is None:
        return None
    return InventoryReport(source=inventory.source, documents=len(inventory.items), matched=curated.matched)


def _reindex(curated: Curated) -> ReindexReport | None:
    if not curated.newest:
        return None
    fates = curated.fates
    return ReindexReport(
        newest=curated.newest,
        votes=sum(fates.values()),
        followed=fates.get(_MOVED, 0),
        same_id=fates.get(SAME, 0),
        without_key=fates.get(UNKEYED, 0),
        in_several=fates.get(SEVERAL, 0),
        not_seen_since=fates.get(UNSEEN, 0),
    )


def _voters(curated: Curated) -> dict[ActorKind, VoterTotal]:
    found = {}
    for kind in KINDS:
        votes = [r for r in curated.reactions if r.kind == kind and r.outcome is not None]
        if votes:
            found[kind] = VoterTotal(votes=len(votes), actors=len({r.actor for r in votes}))
    return found


def _gaps(curated: Curated, limit: int | None) -> GapReport:
    with_key = int((curated.sightings.query >= 0).sum())
    searches = len(curated.sightings.query)
    note = _NO_KEYS if not with_key else None
    if with_key and with_key < searches:
        note = f"{with_key:,} of {searches:,} searches have a key of their question; the others are not in it"
    return GapReport(
        measured=bool(with_key),
        note=note,
        searches_with_key=with_key,
        questions=len(curated.sightings.queries),
        gaps=len(curated.gaps),
        listed=tuple(map(_question, curated.gaps[:limit])),
    )


def _question(query: GapQuery) -> Question:
    return Question(
        query_key=query.query_key.hex(),
        searches=query.searches,
        gaps=query.gaps,
        outcomes=query.outcomes,
        voters=query.voters,
        surfaces=query.surfaces,
        corpora=tuple(corpus or None for corpus in query.corpora),
        epochs=query.epochs,
        first_seen=datetime.fromtimestamp(query.first_seen, timezone.utc),
        last_seen=datetime.fromtimestamp(query.last_seen, timezone.utc),
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
