"""Compares two epochs or two windows: reads both sides in one snapshot and hands the arithmetic to `measures`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ragledger.errors import NotComparable
from ragledger.measures.caveats import caveats, index_change
from ragledger.measures.changes import changes
from ragledger.measures.compared import Testing, voters
from ragledger.measures.comparison_facts import SideFacts
from ragledger.measures.comparison_report import Compared, Comparison, Latencies, RateDifference, SideExtent
from ragledger.measures.difference import difference_of_rates
from ragledger.measures.percentile import smallest_sample
from ragledger.measures.precision import CUTS
from ragledger.measures.ranges import range_of
from ragledger.measures.rates import degraded_share, hit_rate, rate_interval
from ragledger.measures.report import HitRate, Latency
from ragledger.model import ActorKind, Outcome
from ragledger.postgres.connection import Connection, reading

from .plan import planned, with_look
from .sides import Asked, extent_of, read_side, resolved, shared_searches

__all__ = ["DEFAULT_K", "Question", "compare"]

DEFAULT_K = 5


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, and how. `k` is that of the verdict; None: the plan's, else 5. `force` compares across an index change."""

    a: Asked
    b: Asked
    useful_from: Outcome = "relevant"
    k: int | None = None
    seed: int = 0
    force: bool = False


def compare(
    connection: Connection, question: Question, step: Callable[[int], None] = lambda _: None
) -> Comparison:
    """B - A, and what to think of it. A look at a plan is written down where this user may.

    Raises:
        NotComparable: the sides cannot be told, share searches, or have another index and `force` is not given.
        NothingToMeasure: no search of a side ran.
    """
    useful_from = question.useful_from
    with reading(connection):
        a, b = (resolved(connection, side, useful_from) for side in (question.a, question.b))
        if shared := shared_searches(connection, a, b, useful_from):
            raise NotComparable(f"A and B have {shared:,} searches in common; give sides that share none")
        plan = planned(connection, a, b, useful_from)
        found_a = read_side(connection, a, useful_from)
        step(1)
        found_b = read_side(connection, b, useful_from)
        step(1)
    of_a, of_b = extent_of(a, found_a), extent_of(b, found_b)
    changed = index_change(of_a, of_b)
    if changed and not question.force:
        raise NotComparable(
            f"not compared: the index changed ({changed}), so a difference would be of index and weights together; "
            "--force compares all the same"
        )
    k = question.k or (plan.plan.k if plan else DEFAULT_K)
    kinds = voters(found_a, found_b, Testing(k=k, seed=question.seed), step)
    comparison = _comparison(question, k, (found_a, found_b), (of_a, of_b), kinds)
    return with_look(connection, comparison, plan) if plan else comparison


def _comparison(
    question: Question,
    k: int,
    found: tuple[SideFacts, SideFacts],
    extents: tuple[SideExtent, SideExtent],
    kinds: dict[ActorKind, Compared],
) -> Comparison:
    degraded = _degraded(*found)
    return Comparison(
        useful_from=question.useful_from,
        cuts=CUTS,
        k=k,
        seed=question.seed,
        a=extents[0],
        b=extents[1],
        changes=changes(_settings(found[0]), _settings(found[1])),
        hit_rate=_hit_rate(*found),
        degraded=degraded,
        latency=Latencies(a=_latency(found[0]), b=_latency(found[1])),
        voters=kinds,
        caveats=caveats(found, extents, kinds, degraded, k),
        plan=None,
    )


def _settings(side: SideFacts) -> dict[str, Any]:
    """The effective weights of the newest epoch of a side, and its index."""
    newest = max(side.epochs, key=lambda fact: (fact.last_seen, fact.epoch))
    effective = newest.weights.get("effective") or {}
    index = {"index_version": newest.index_version, "embedding_model": newest.embedding_model}
    return {**effective, **index}


def _hit_rate(a: SideFacts, b: SideFacts) -> RateDifference:
    return _rates(
        *(
            HitRate(
                n=side.found,
                of=side.told,
                rate=hit_rate(side.found, side.told),
                interval=range_of(rate_interval(side.found, side.told)),
            )
            for side in (a, b)
        )
    )


def _degraded(a: SideFacts, b: SideFacts) -> RateDifference:
    return _rates(
        *(
            HitRate(
                n=side.degraded,
                of=side.ran,
                rate=degraded_share(side.degraded, side.ran),
                interval=range_of(rate_interval(side.degraded, side.ran)),
            )
            for side in (a, b)
        )
    )


def _rates(a: HitRate, b: HitRate) -> RateDifference:
    value, low, high = difference_of_rates((a.n, a.of), (b.n, b.of)) or (None, None, None)
    return RateDifference(a=a, b=b, difference=value, low=low, high=high)


def _latency(side: SideFacts) -> Latency:
    found = side.latency
    enough = found.timed >= smallest_sample(95)
    return Latency(n=found.timed, p50_ms=found.p50_ms, p95_ms=found.p95_ms if enough else None)
