"""From counted facts to a measurement: divides, orders and names. Pure; what a number means is in `report.py`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from fractions import Fraction
from typing import Any, get_args

from msgspec import structs

from ragledger.model import ActorKind, Outcome

from . import percentile, precision, ranks, rates, report
from .facts import AccessedFact, EpochFact, Facts, GroupFact, JudgedFact, ShownFact, VoterFact
from .precision import CUTS, Judged
from .report import Measurement, Window

__all__ = ["KINDS", "summarise"]

KINDS: tuple[ActorKind, ...] = get_args(ActorKind)


def summarise(facts: Facts, window: Window, useful_from: Outcome) -> Measurement:
    """The measurement of a window in which there is at least one search."""
    everything = next(fact for fact in facts.groups if fact.grouped_by == "all")
    by_actor_kind = _by_actor_kind(facts.groups)
    return Measurement(
        useful_from=useful_from,
        cuts=CUTS,
        window=_extent(facts, window),
        searches=report.Group(**_group(everything)),
        by_surface=_by_surface(facts.groups),
        by_session=_by_session(facts.groups),
        by_actor_kind=by_actor_kind,
        skipped=_skipped(facts, everything),
        degraded=_degraded(facts, everything),
        vector=report.VectorCounts(
            available=facts.conditions.vector_available,
            unavailable=facts.conditions.vector_unavailable,
            unknown=facts.conditions.vector_unknown,
        ),
        epochs=tuple(_epoch(fact) for fact in _in_order(facts.epochs)),
        precision=_precision(
            facts, everything.ok, {part.actor_kind: part.by_status.ok for part in by_actor_kind}
        ),
        ranks=_ranks(facts),
        funnel=_funnel(facts),
    )


def _extent(facts: Facts, window: Window) -> report.Extent:
    extent = facts.extent
    if extent.first_search is None or extent.last_search is None:
        raise ValueError("there is no search in these facts")
    return report.Extent(
        project=window.project,
        corpus=window.corpus,
        surface=window.surface,
        since=_utc(window.since) if window.since else None,
        until=_utc(window.until) if window.until else None,
        first_search=_utc(extent.first_search),
        last_search=_utc(extent.last_search),
        projects=tuple(sorted(extent.projects or ())),
        corpora=tuple(sorted(extent.corpora or (), key=_null_last)),
    )


def _group(fact: GroupFact) -> dict[str, Any]:
    def given(percent: int, value: float | None) -> float | None:
        return value if fact.timed >= percentile.smallest_sample(percent) else None

    told = fact.ok - fact.untold
    return {
        "searches": fact.ok + fact.error + fact.cancelled + fact.skipped,
        "by_status": report.Statuses(
            ok=fact.ok, error=fact.error, cancelled=fact.cancelled, skipped=fact.skipped
        ),
        "empty": fact.empty,
        "untold": fact.untold,
        "padded_only": told - fact.empty - fact.found,
        "hit_rate": report.HitRate(n=fact.found, of=told, rate=rates.hit_rate(fact.found, told)),
        "latency": report.Latency(n=fact.timed, p50_ms=given(50, fact.p50_ms), p95_ms=given(95, fact.p95_ms)),
    }


def _by_surface(groups: Sequence[GroupFact]) -> tuple[report.SurfaceGroup, ...]:
    found = [fact for fact in groups if fact.grouped_by == "surface"]
    found.sort(key=lambda fact: _null_last(fact.surface))
    return tuple(report.SurfaceGroup(surface=fact.surface, **_group(fact)) for fact in found)


def _by_session(groups: Sequence[GroupFact]) -> tuple[report.SessionGroup, ...]:
    found = {fact.in_session: fact for fact in groups if fact.grouped_by == "session"}
    return tuple(
        report.SessionGroup(in_session=answer, **_group(found[answer]))
        for answer in (True, False)
        if answer in found
    )


def _by_actor_kind(groups: Sequence[GroupFact]) -> tuple[report.ActorKindGroup, ...]:
    found = {fact.actor_kind: fact for fact in groups if fact.grouped_by == "actor_kind"}
    return tuple(
        report.ActorKindGroup(actor_kind=kind, **_group(found[kind])) for kind in KINDS if kind in found
    )


def _skipped(facts: Facts, everything: GroupFact) -> report.Condition:
    n, of = everything.skipped, facts.extent.searches
    return report.Condition(n=n, of=of, rate=rates.skipped_share(n, of), reasons=_reasons(facts, "skipped"))


def _degraded(facts: Facts, everything: GroupFact) -> report.Condition:
    n, of = facts.conditions.degraded, facts.extent.searches - everything.skipped
    return report.Condition(n=n, of=of, rate=rates.degraded_share(n, of), reasons=_reasons(facts, "degraded"))


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


def _precision(facts: Facts, ok: int, ok_by_kind: dict[ActorKind, int]) -> report.Precision:
    epochs = [fact for fact in _in_order(facts.epochs) if fact.ok]
    kinds = [kind for kind, count in ok_by_kind.items() if count]
    voters = {fact.voter: fact for fact in facts.voters}
    judged = _judged_by_kind(facts.judged)
    return report.Precision(
        order=report.Order(delivered=facts.conditions.delivered, retriever=ok - facts.conditions.delivered),
        across=report.Across(epochs=len(epochs), actor_kinds=len(kinds)),
        overall={
            kind: _voter(voters.get(kind) or VoterFact(kind, 0, 0, 0), facts.shown, judged[kind])
            for kind in KINDS
        },
        by_epoch={
            epoch.epoch: _part(
                epoch.ok,
                [fact for fact in facts.shown if fact.epoch == epoch.epoch],
                [fact for fact in facts.judged if fact.epoch == epoch.epoch],
            )
            for epoch in epochs
        },
        by_actor_kind={
            kind: _part(
                ok_by_kind[kind],
                [fact for fact in facts.shown if fact.actor_kind == kind],
                [fact for fact in facts.judged if fact.actor_kind == kind],
            )
            for kind in kinds
        },
    )


def _voter(fact: VoterFact, shown: Sequence[ShownFact], judged: Sequence[Judged]) -> report.Voter:
    return report.Voter(
        votes=fact.votes,
        actors=fact.actors,
        searches=fact.searches,
        not_delivered=precision.judged_hits(one for one in judged if one.position is None),
        at=_cuts(shown, judged),
    )


def _part(ok: int, shown: Sequence[ShownFact], judged: Sequence[JudgedFact]) -> report.Part:
    by_kind = _judged_by_kind(judged)
    return report.Part(ok=ok, voters={kind: _cuts(shown, by_kind[kind]) for kind in KINDS})


def _cuts(shown: Sequence[ShownFact], judged: Sequence[Judged]) -> report.Cuts:
    return {k: _at(k, shown, judged) for k in CUTS}


def _at(k: int, shown: Sequence[ShownFact], judged: Sequence[Judged]) -> report.At:
    counted = precision.within(judged, k)
    hits = precision.judged_hits(counted)
    out_of = sum(fact.hits for fact in shown if fact.position is not None and fact.position <= k)
    return report.At(
        precision=precision.precision(judged, k),
        useful=float(precision.usefulness(counted)),
        judged=hits,
        shown=out_of,
        judged_share=precision.judged_share(hits, out_of),
    )


def _judged_by_kind(facts: Sequence[JudgedFact]) -> dict[ActorKind, list[Judged]]:
    by_kind: dict[ActorKind, list[Judged]] = {kind: [] for kind in KINDS}
    for fact in facts:
        by_kind[fact.voter].append(
            Judged(position=fact.position, actors=fact.actors, useful_votes=fact.useful_votes, hits=fact.hits)
        )
    return by_kind


def _ranks(facts: Facts) -> report.Ranks:
    shown = ranks.spread(((fact.position, fact.hits) for fact in facts.shown), 0)
    accessed = ranks.spread(((fact.position, fact.accessed) for fact in facts.shown), 0)
    judged = _judged_by_kind(facts.judged)
    voters = {kind: _feedback_by_position(kind, facts.accessed, judged[kind]) for kind in KINDS}

    def at(index: int, position: int | None) -> report.Position:
        feedback = {kind: voters[kind][index] for kind in KINDS}
        return report.Position(
            position=position, shown=shown[index], accessed=accessed[index], voters=feedback
        )

    last = ranks.last_position(shown[: ranks.TOP])
    return report.Ranks(
        top=ranks.TOP,
        positions=tuple(at(position - 1, position) for position in range(1, last + 1)),
        beyond=at(ranks.TOP, None),
    )


def _feedback_by_position(
    kind: ActorKind, accessed: Sequence[AccessedFact], judged: Sequence[Judged]
) -> list[report.Feedback]:
    opened = ranks.spread(((fact.position, fact.hits) for fact in accessed if fact.voter == kind), 0)
    hits = ranks.spread(((one.position, one.hits) for one in judged), 0)
    useful = ranks.spread(((one.position, precision.usefulness([one])) for one in judged), Fraction(0))
    return [
        report.Feedback(accessed=a, judged=j, useful=float(u))
        for a, j, u in zip(opened, hits, useful, strict=True)
    ]


def _funnel(facts: Facts) -> report.Funnel:
    judged = _judged_by_kind(facts.judged)
    return report.Funnel(
        retrieved=sum(fact.hits for fact in facts.shown),
        accessed=sum(fact.accessed for fact in facts.shown),
        voters={
            kind: report.Feedback(
                accessed=sum(fact.hits for fact in facts.accessed if fact.voter == kind),
                judged=precision.judged_hits(judged[kind]),
                useful=float(precision.usefulness(judged[kind])),
            )
            for kind in KINDS
        },
    )


def _null_last(name: str | None) -> tuple[bool, str]:
    return (name is None, name or "")


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc)
