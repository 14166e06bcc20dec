"""From counted facts to a measurement: divides, orders and names. Pure; what a number means is in `report.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from msgspec import structs

from ragledger.model import Outcome

from . import percentile, rates, report, voted
from .ballots import KINDS
from .facts import AnswersFact, EpochFact, Facts, GroupFact
from .precision import CUTS
from .ranges import range_of
from .report import Measurement, Window
from .voting import Votes, assessments

__all__ = ["KINDS", "summarise"]


def summarise(facts: Facts, window: Window, useful_from: Outcome) -> Measurement:
    """The measurement of a window in which there is at least one search."""
    everything = next(fact for fact in facts.groups if fact.grouped_by == "all")
    by_actor_kind, by_surface = _by_actor_kind(facts), _by_surface(facts)
    epochs = [fact.epoch for fact in _in_order(facts.epochs)]
    votes = Votes(facts)
    return Measurement(
        useful_from=useful_from,
        cuts=CUTS,
        window=_extent(facts, window),
        searches=report.Group(**_group(everything, facts.answers)),
        by_surface=by_surface,
        by_session=_by_session(facts),
        by_actor_kind=by_actor_kind,
        skipped=_skipped(facts, everything),
        degraded=_degraded(facts, everything),
        vector=report.VectorCounts(
            available=facts.conditions.vector_available,
            unavailable=facts.conditions.vector_unavailable,
            unknown=facts.conditions.vector_unknown,
        ),
        epochs=tuple(_epoch(fact) for fact in _in_order(facts.epochs)),
        precision=_precision(facts, votes, everything.ok, (by_actor_kind, by_surface)),
        ranks=votes.ranks(),
        funnel=votes.funnel(),
        agreement=votes.agreement(),
        diagnosis=votes.diagnosis(epochs),
        assessments=assessments(facts.stored, facts.assessed, epochs),
    )


def _extent(facts: Facts, window: Window) -> report.Extent:
    extent = facts.extent
    return report.Extent(
        project=window.project,
        corpus=window.corpus,
        surface=window.surface,
        since=_utc(window.since) if window.since else None,
        until=_utc(window.until) if window.until else None,
        first_search=_utc(extent.first_search),
        last_search=_utc(extent.last_search),
        projects=tuple(sorted(extent.projects)),
        corpora=tuple(sorted(extent.corpora, key=_null_last)),
    )


def _group(fact: GroupFact, answers: Iterable[AnswersFact]) -> dict[str, Any]:
    def given(percent: int, value: float | None) -> float | None:
        return value if fact.timed >= percentile.smallest_sample(percent) else None

    nothing = list(answers)
    untold, empty, padded_only = (
        sum(getattr(one, why) for one in nothing) for why in ("untold", "empty", "padded_only")
    )
    told = fact.ok - untold
    found = told - empty - padded_only
    return {
        "searches": fact.ok + fact.error + fact.cancelled + fact.skipped,
        "by_status": report.Statuses(
            ok=fact.ok, error=fact.error, cancelled=fact.cancelled, skipped=fact.skipped
        ),
        "untold": untold,
        "empty": empty,
        "padded_only": padded_only,
        "hit_rate": report.HitRate(n=found, of=told, **_rated(found, told)),
        "latency": report.Latency(n=fact.timed, p50_ms=given(50, fact.p50_ms), p95_ms=given(95, fact.p95_ms)),
    }


def _rated(n: int, of: int) -> dict[str, Any]:
    return {"rate": rates.rate(n, of), "interval": range_of(rates.rate_interval(n, of))}


def _grouped(facts: Facts, by: str, column: str) -> dict[Any, dict[str, Any]]:
    """The values of a `Group` for each value of the column."""
    return {
        getattr(fact, column): _group(
            fact, (one for one in facts.answers if getattr(one, column) == getattr(fact, column))
        )
        for fact in facts.groups
        if fact.grouped_by == by
    }


def _by_surface(facts: Facts) -> tuple[report.SurfaceGroup, ...]:
    found = _grouped(facts, "surface", "surface")
    return tuple(report.SurfaceGroup(surface=name, **found[name]) for name in sorted(found, key=_null_last))


def _by_session(facts: Facts) -> tuple[report.SessionGroup, ...]:
    found = _grouped(facts, "session", "in_session")
    return tuple(
        report.SessionGroup(in_session=answer, **found[answer]) for answer in (True, False) if answer in found
    )


def _by_actor_kind(facts: Facts) -> tuple[report.ActorKindGroup, ...]:
    found = _grouped(facts, "actor_kind", "actor_kind")
    return tuple(report.ActorKindGroup(actor_kind=kind, **found[kind]) for kind in KINDS if kind in found)


def _skipped(facts: Facts, everything: GroupFact) -> report.Condition:
    n, of = everything.skipped, facts.extent.searches
    return report.Condition(n=n, of=of, **_rated(n, of), reasons=_reasons(facts, "skipped"))


def _degraded(facts: Facts, everything: GroupFact) -> report.Condition:
    n, of = facts.conditions.degraded, facts.extent.searches - everything.skipped
    return report.Condition(n=n, of=of, **_rated(n, of), reasons=_reasons(facts, "degraded"))


def _reasons(facts: Facts, what: str) -> tuple[report.Reason, ...]:
    found = [
        report.Reason(reason=fact.reason, n=fact.searches) for fact in facts.reasons if fact.what == what
    ]
    return tuple(sorted(found, key=lambda reason: (-reason.n, _null_last(reason.reason))))


def _epoch(fact: EpochFact) -> report.Epoch:
    seen = {"first_seen": _utc(fact.first_seen), "last_seen": _utc(fact.last_seen)}
    return report.Epoch(**{**structs.asdict(fact), **seen})


def _in_order(epochs: Sequence[EpochFact]) -> list[EpochFact]:
    return sorted(epochs, key=lambda fact: (fact.first_seen, fact.epoch))


def _precision(facts: Facts, votes: Votes, ok: int, parts: Sequence[Sequence[Any]]) -> voted.Precision:
    epochs = [fact for fact in _in_order(facts.epochs) if fact.ok]
    kinds, surfaces = ([part for part in groups if part.by_status.ok] for groups in parts)
    delivered = facts.conditions.delivered
    return voted.Precision(
        order=voted.Order(delivered=delivered, retriever=ok - delivered),
        across=voted.Across(epochs=len(epochs), actor_kinds=len(kinds), surfaces=len(surfaces)),
        overall={kind: votes.voter(kind, ok) for kind in KINDS},
        by_epoch={
            epoch.epoch: voted.Part(**votes.part(("epoch", epoch.epoch), epoch.ok)) for epoch in epochs
        },
        by_actor_kind={
            part.actor_kind: voted.Part(**votes.part(("actor_kind", part.actor_kind), part.by_status.ok))
            for part in kinds
        },
        by_surface=tuple(
            voted.SurfacePart(
                surface=part.surface, **votes.part(("surface", part.surface), part.by_status.ok)
            )
            for part in surfaces
        ),
    )


def _null_last(name: str | None) -> tuple[bool, str]:
    return (name is None, name or "")


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc)
