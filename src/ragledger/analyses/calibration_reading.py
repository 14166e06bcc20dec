"""Reads what a calibration rests on, a query each, in one read-only snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args
from uuid import UUID

import numpy as np
from msgspec import Struct

from ragledger.emptiness import nothing_in
from ragledger.measures.comparison_facts import RunningFact
from ragledger.measures.depth import RankFact
from ragledger.measures.evidence import HitFact, SearchFact
from ragledger.measures.facts import EpochFact
from ragledger.measures.pairs import Floats, Ints
from ragledger.measures.refusion import Fusion, Unreadable, fusion_of
from ragledger.model import ActorKind
from ragledger.scoped import ScopeReader

__all__ = ["Reading", "read", "read_candidates"]


class Reading(NamedTuple):
    """The voted searches and judged hits, and how each epoch fuses; `current` is the epoch whose weights run now.

    `elsewhere`: corpora of a project, in words, that run other weights now.
    """

    voter: ActorKind
    judged: dict[ActorKind, int]
    current: EpochFact
    fusions: Mapping[str, Fusion | Unreadable]
    searches: list[SearchFact]
    hits: list[HitFact]
    ranks: list[RankFact]
    top_k: int | None
    elsewhere: tuple[str, ...]

    @property
    def running(self) -> Fusion | Unreadable:
        """The weights that a change would replace: those of the newest search, whether anybody voted on it or not."""
        return self.fusions[self.current.epoch]


class _KindFact(Struct, frozen=True, array_like=True):
    voter: ActorKind
    hits: int


class _CurrentFact(Struct, frozen=True, array_like=True):
    epoch: str
    top_k: int | None


class _SignalFact(Struct, frozen=True, array_like=True):
    name: str


class _CandidateFact(Struct, frozen=True, array_like=True, gc=False):
    search_id: UUID
    said: list[float | None]


def read(reader: ScopeReader, voter: ActorKind | None) -> Reading:
    """Everything but the candidates. Without `voter`, those who judged most hits.

    Raises:
        NothingToMeasure: no search of the window ran.
    """
    epochs = reader.epochs(reader.alike())
    if not epochs:
        raise nothing_in(reader.connection, reader.window, "calibrate", kind="search that ran")
    newest = reader.one("calibrate", "current", _CurrentFact)
    current = next(epoch for epoch in epochs if epoch.epoch == newest.epoch)
    judged = {fact.voter: fact.hits for fact in reader.all("calibrate", "kinds", _KindFact)}
    kind = voter if voter is not None else _most(judged)
    searches = reader.all("calibrate", "searches", SearchFact, voter=kind)
    logged = {name for search in searches for name in search.signals or ()}
    logged |= {fact.name for fact in reader.all("calibrate", "logged", _SignalFact, running=current.epoch)}
    fusions = {epoch.epoch: fusion_of(_effective(epoch), logged) for epoch in epochs}
    running = fusions[current.epoch]
    names = list(running.names) if isinstance(running, Fusion) else []
    by_rank = isinstance(running, Fusion) and running.kind == "reciprocal_rank"
    query = "places" if by_rank else "hits"
    place = {"index_version": current.index_version, "embedding_model": current.embedding_model}
    return Reading(
        voter=kind,
        judged=judged,
        current=current,
        fusions=fusions,
        searches=searches,
        hits=reader.all("calibrate", query, HitFact, voter=kind, names=names) if names else [],
        ranks=reader.all("calibrate", "ranks", RankFact, voter=kind, **place),
        top_k=newest.top_k,
        elsewhere=_elsewhere(reader.all("compare", "running", RunningFact), fusions, running),
    )


def _elsewhere(
    ran: Sequence[RunningFact], fusions: Mapping[str, Fusion | Unreadable], running: Fusion | Unreadable
) -> tuple[str, ...]:
    """Where the newest search is under other weights; `ran` begins with what runs now."""
    newest: dict[tuple[str, str | None], str] = {}
    for fact in ran:
        newest.setdefault((fact.project, fact.corpus), fact.epoch)
    return tuple(
        sorted(
            f"corpus {corpus or '(none)'} of project {project}"
            for (project, corpus), epoch in newest.items()
            if isinstance(fusions[epoch], Fusion) and fusions[epoch] != running
        )
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
