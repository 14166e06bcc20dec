"""From searches that are alike to counts of searches: what is in the window, groups, conditions, reasons, epochs.

The table is read once for all of them (`searches` of `sql/measure.sql`); here the counts are only added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from ragledger.model import ActorKind

from .facts import (
    AlikeFact,
    ConditionsFact,
    EpochFact,
    ExtentFact,
    GroupFact,
    LatencyFact,
    ReasonFact,
    WeightsFact,
)

__all__ = ["conditions", "epochs", "extent", "groups", "latest", "parts", "reasons"]

_GroupKey = tuple[
    Literal["all", "surface", "session", "actor_kind"], "str | None", "bool | None", "ActorKind | None"
]


def extent(alike: Sequence[AlikeFact]) -> ExtentFact:
    """Of at least one search."""
    return ExtentFact(
        searches=_count(alike),
        first_search=min(fact.first_search for fact in alike),
        last_search=max(fact.last_search for fact in alike),
        projects=tuple({fact.project for fact in alike}),
        corpora=tuple({fact.corpus for fact in alike}),
    )


def parts(alike: Iterable[AlikeFact]) -> dict[str, list[Any]]:
    """What hits are counted by: the epochs, kinds of asking actors and surfaces that come together, as three columns."""
    together = {(fact.epoch, fact.actor_kind, fact.surface) for fact in alike}
    epochs, actor_kinds, surfaces = zip(*together, strict=True)
    return {"epochs": list(epochs), "actor_kinds": list(actor_kinds), "surfaces": list(surfaces)}


def groups(alike: Iterable[AlikeFact], latencies: Iterable[LatencyFact]) -> list[GroupFact]:
    """All searches; those of each surface; in a session and not; of each kind of asking actor."""
    counted: dict[_GroupKey, Counter[str]] = {}
    for fact in alike:
        for key in _groups_of(fact):
            counted.setdefault(key, Counter())[fact.status] += fact.searches
    timed = {(one.grouped_by, one.surface, one.in_session, one.actor_kind): one for one in latencies}
    return [_group(key, by_status, timed.get(key)) for key, by_status in counted.items()]


def conditions(alike: Sequence[AlikeFact]) -> ConditionsFact:
    """How many were degraded, had a vector signal, were counted in a delivered order."""

    def having(condition: Callable[[AlikeFact], bool]) -> int:
        return _count(fact for fact in alike if condition(fact))

    return ConditionsFact(
        degraded=having(_degraded),
        vector_available=having(lambda fact: fact.vector_available is True),
        vector_unavailable=having(lambda fact: fact.vector_available is False),
        vector_unknown=having(lambda fact: fact.vector_available is None),
        delivered=having(lambda fact: fact.delivered),
    )


def reasons(alike: Iterable[AlikeFact]) -> list[ReasonFact]:
    """Why searches were skipped, and why others were degraded."""
    counted: Counter[tuple[Literal["skipped", "degraded"], str | None]] = Counter()
    for fact in alike:
        if fact.status == "skipped":
            counted["skipped", fact.skip_reason] += fact.searches
        elif _degraded(fact):
            counted["degraded", fact.degraded_reason] += fact.searches
    return [ReasonFact(what, reason, searches) for (what, reason), searches in counted.items()]


def latest(alike: Iterable[AlikeFact]) -> list[tuple[str, str, datetime]]:
    """Where the latest search of each epoch is: project, epoch, moment. More than one where several began at once."""
    ran = _by_epoch(alike)
    last = {epoch: max(fact.last_search for fact in members) for epoch, members in ran.items()}
    return sorted(
        {
            (fact.project, epoch, last[epoch])
            for epoch, members in ran.items()
            for fact in members
            if fact.last_search == last[epoch]
        }
    )


def epochs(alike: Iterable[AlikeFact], weights: Iterable[WeightsFact]) -> list[EpochFact]:
    """Every epoch in which a search ran."""
    ran = _by_epoch(alike)
    return [
        EpochFact(
            epoch=one.epoch,
            searches=_count(ran[one.epoch]),
            ok=_count(fact for fact in ran[one.epoch] if fact.status == "ok"),
            first_seen=min(fact.first_search for fact in ran[one.epoch]),
            last_seen=max(fact.last_search for fact in ran[one.epoch]),
            weights=one.weights,
            index_version=one.index_version,
            embedding_model=one.embedding_model,
        )
        for one in weights
    ]


def _by_epoch(alike: Iterable[AlikeFact]) -> dict[str, list[AlikeFact]]:
    found: dict[str, list[AlikeFact]] = {}
    for fact in alike:
        if fact.status != "skipped":
            found.setdefault(fact.epoch, []).append(fact)
    return found


def _count(alike: Iterable[AlikeFact]) -> int:
    return sum(fact.searches for fact in alike)


def _degraded(fact: AlikeFact) -> bool:
    return fact.degraded and fact.status != "skipped"


def _groups_of(fact: AlikeFact) -> tuple[_GroupKey, ...]:
    return (
        ("all", None, None, None),
        ("surface", fact.surface, None, None),
        ("session", None, fact.in_session, None),
        ("actor_kind", None, None, fact.actor_kind),
    )


def _group(key: _GroupKey, by_status: Counter[str], took: LatencyFact | None) -> GroupFact:
    numbers: dict[str, Any] = {
        status: by_status[status] for status in ("ok", "error", "cancelled", "skipped")
    }
    return GroupFact(
        *key,
        **numbers,
        timed=took.timed if took else 0,
        p50_ms=took.p50_ms if took else None,
        p95_ms=took.p95_ms if took else None,
    )
