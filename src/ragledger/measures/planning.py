"""How many votes a comparison needs, from what an epoch shows, and what a look before that number costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from ragledger.model import ActorKind

from .comparison_facts import SideFacts
from .comparison_report import Comparison, Look, Plan, PlanState
from .interval import Sums, clustered
from .peeking import error_of_looking
from .power import votes_needed

__all__ = ["Baseline", "baseline", "look_at", "needed", "searches_for", "state"]


class Baseline(Struct, frozen=True, kw_only=True):
    """What an epoch shows at one k: precision, how far its votes are from independent, and how they come in."""

    precision: float
    design_effect: float
    judged: int
    searches: int


def baseline(facts: SideFacts, voter: ActorKind, k: int) -> Baseline | None:
    """None while fewer than two searches have a vote within k."""
    sums = Sums.of(
        (getattr(fact, f"useful_{k}"), getattr(fact, f"judged_{k}"))
        for fact in facts.clusters
        if fact.voter == voter
    )
    found = clustered(sums)
    if found is None:
        return None
    return Baseline(
        precision=sums.useful / sums.judged,
        design_effect=found.design_effect,
        judged=int(sums.judged),
        searches=facts.ok,
    )


def needed(
    found: Baseline, share_from: float, share_to: float, *, power: float, alpha: float
) -> tuple[int, int]:
    """Votes on each side, and the ok searches that bring them in at the rate of the baseline."""
    votes = votes_needed(share_from, share_to, power=power, alpha=alpha, design_effect=found.design_effect)
    return votes, searches_for(found, votes)


def searches_for(found: Baseline, votes: int) -> int:
    """How many ok searches bring in so many votes."""
    return math.ceil(votes * found.searches / found.judged)


def look_at(plan: Plan, comparison: Comparison) -> tuple[int, int]:
    """The judged hits of A and B that the plan speaks of."""
    found = comparison.voters.get(plan.voter)
    return (found.at[plan.k].a.judged, found.at[plan.k].b.judged) if found else (0, 0)


def state(plan: Plan, votes: tuple[int, int], earlier: Sequence[Look], *, written: bool) -> PlanState:
    """How far the plan is reached. A look at the very votes that were looked at before is none of its own."""
    before = tuple(look for look in earlier if (look.votes_a, look.votes_b) != votes)
    shares = [min(look.votes_a, look.votes_b) / plan.votes for look in before]
    reached = min(votes) / plan.votes
    looks = len(before) + 1
    error = error_of_looking([*shares, reached], alpha=plan.alpha)
    return PlanState(
        plan=plan,
        votes_a=votes[0],
        votes_b=votes[1],
        reached=reached,
        looks=looks,
        earlier=before,
        error=error,
        written=written,
        text=_words(plan, votes, shares, error),
    )


def _words(plan: Plan, votes: tuple[int, int], earlier: Sequence[float], error: float) -> str:
    said = f"{plan.votes:,} hits judged by {plan.voter} in the first {plan.k} are planned for each side"
    here = f"A has {votes[0]:,}, B {votes[1]:,}"
    early = sum(share < 1 for share in earlier)
    cost = (
        f"who stops at the first p of {plan.alpha:.2g} is wrong in {error:.0%} of changes that change nothing"
    )
    if min(votes) < plan.votes:
        return f"{said}; {here}: look number {len(earlier) + 1}, before the plan is reached. With these looks and the planned one, {cost}"
    if early:
        return f"{said}; {here}: the plan is reached, after {early} look(s) before it. With those, {cost}"
    return f"{said}; {here}: the plan is reached, and this is the look that was planned"
