"""Reads what a calibration rests on, a query each, in one read-only snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args
from uuid import UUID

import numpy as np
from msgspec import Struct

from ragledger.errors import NothingToMeasure
from ragledger.measures.depth import RankFact
from ragledger.measures.evidence import HitFact, SearchFact
from ragledger.measures.facts import EpochFact
from ragledger.measures.pairs import Floats, Ints
from ragledger.measures.refusion import Fusion, Unreadable, fusion_of
from ragledger.model import ActorKind
from ragledger.scoped import ScopeReader

__all__ = ["Reading", "read", "read_candidates"]


class Reading(NamedTuple):
    """The voted searches and judged hits, and how each epoch fuses; the current epoch is the one of the latest search."""

    voters: ActorKind
    judged: dict[ActorKind, int]
    current: EpochFact
    fusions: Mapping[str, Fusion | Unreadable]
    searches: list[SearchFact]
    hits: list[HitFact]
    ranks: list[RankFact]
    top_k: int | None

    @property
    def running(self) -> Fusion | Unreadable:
        """How the latest search fused."""
        return self.fusions[self.current.epoch]


class _KindFact(Struct, frozen=True, array_like=True):
    voters: ActorKind
    hits: int


class _AskedFact(Struct, frozen=True, array_like=True):
    top_k: int | None


class _CandidateFact(Struct, frozen=True, array_like=True, gc=False):
    search_id: UUID
    said: list[float | None]


def read(reader: ScopeReader, voters: ActorKind | None) -> Reading:
    """Everything but the candidates. Without `voters`, those who judged most hits.

    Raises:
        NothingToMeasure: no search of the window ran.
    """
    epochs = reader.all("measure", "epochs", EpochFact)
    if not epochs:
        raise NothingToMeasure("nothing to calibrate: no search of this window ran")
    current = max(epochs, key=lambda epoch: (epoch.last_seen, epoch.epoch))
    judged = {fact.voters: fact.hits for fact in reader.all("calibrate", "kinds", _KindFact)}
    kind = voters if voters is not None else _most(judged)
    searches = reader.all("calibrate", "searches", SearchFact, voters=kind)
    # Of all epochs: the current one may be so new that nobody has voted in it yet.
    logged = {name for search in searches for name in search.signals or ()}
    fusions = {epoch.epoch: fusion_of(_effective(epoch), logged) for epoch in epochs}
    running = fusions[current.epoch]
    names = list(running.names) if isinstance(running, Fusion) else []
    by_rank = isinstance(running, Fusion) and running.kind == "reciprocal_rank"
    query = "places" if by_rank else "hits"
    place = {"index_version": current.index_version, "embedding_model": current.embedding_model}
    return Reading(
        voters=kind,
        judged=judged,
        current=current,
        fusions=fusions,
        searches=searches,
        hits=reader.all("calibrate", query, HitFact, voters=kind, names=names) if names else [],
        ranks=reader.all("calibrate", "ranks", RankFact, voters=kind, **place),
        top_k=reader.one("calibrate", "asked_for", _AskedFact).top_k if any(e.ok for e in epochs) else None,
    )


def _most(judged: Mapping[ActorKind, int]) -> ActorKind:
    most = max(judged.values(), default=0)
    return next((kind for kind in get_args(ActorKind) if judged.get(kind) == most), "human")


def _effective(epoch: EpochFact) -> Mapping[str, Any]:
    effective = epoch.weights.get("effective")
    return effective if isinstance(effective, dict) else {}


def read_candidates(reader: ScopeReader, searches: list[UUID], fusion: Fusion) -> tuple[Ints, Floats]:
    """Of each candidate, the place of its search in the list and what each signal said; NaN: it was not scored."""
    place = {search_id: number for number, search_id in enumerate(searches)}
    rows = reader.all("calibrate", "candidates", _CandidateFact, names=list(fusion.names), searches=searches)
    said = np.array([row.said for row in rows], dtype=np.float64).reshape(len(rows), len(fusion.names))
    return np.array([place[row.search_id] for row in rows], dtype=np.int64), said
