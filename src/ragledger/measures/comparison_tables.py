"""A comparison as lines and tables of text: the verdict first, then what it rests on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .comparison_report import (
    AtK,
    Compared,
    Comparison,
    PairedDifference,
    Plan,
    RateDifference,
    SideAt,
    SideExtent,
    UnpairedDifference,
)
from .percentile import smallest_sample
from .tables import NOT_MEASURED, Table
from .verdict import ONE_VOTER, points

if TYPE_CHECKING:
    from .planning import Baseline  # it needs numpy, which a command line without comparisons does not

__all__ = ["comparison_heading", "comparison_tables", "plan_lines"]


def comparison_heading(comparison: Comparison) -> tuple[str, ...]:
    """What it comes to, what is different, and what to know before believing it."""
    lines = [_side("A", comparison.a), _side("B", comparison.b), _changed(comparison)]
    lines += [found.verdict.text for found in comparison.voters.values()]
    if not comparison.voters:
        lines.append(f"{NOT_MEASURED}: nobody voted on either side")
    lines += [f"careful: {caveat.text}" for caveat in comparison.caveats]
    if comparison.plan is not None:
        lines.append(f"plan: {comparison.plan.text}")
        if not comparison.plan.written:
            lines.append("plan: this look was not written down: this user may not insert into `plan_looks`")
    return tuple(lines)


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """The numbers: one table per voter kind, and the rates."""
    return (
        *(_voter(kind, found, comparison) for kind, found in comparison.voters.items()),
        _rates(comparison),
    )


def plan_lines(plan: Plan, baseline: Baseline) -> tuple[str, ...]:
    """A plan for a person, with what it was estimated from."""
    return (
        f"epoch {plan.epoch}: {plan.voter} votes in the first {plan.k}, useful from {plan.useful_from} on; precision "
        f"{baseline.precision:.3f} over {baseline.judged:,} judged hits, design effect {plan.design_effect:.2f}",
        f"to tell {plan.share_to:.3f} from {plan.share_from:.3f} with power {plan.power:.2g} at alpha {plan.alpha:.2g}:",
        f"{plan.votes:,} judged hits on each side, about {plan.searches:,} searches at the rate of this epoch",
    )


def _setting(value: Any) -> str:
    """A setting as text; null: the side does not have it."""
    if value is None:
        return "(not set)"
    return value if isinstance(value, str) else json.dumps(value)


def _side(letter: str, side: SideExtent) -> str:
    epoch = f", epoch {side.epoch}" if side.epoch and side.epoch != side.name else ""
    seen = f"{side.first_search:%Y-%m-%d %H:%M} to {side.last_search:%Y-%m-%d %H:%M} UTC"
    return f"{letter}: {side.name}{epoch}, {side.searches:,} searches from {seen}"


def _changed(comparison: Comparison) -> str:
    if not comparison.changes:
        return "changed: nothing in the effective weights"
    said = (f"{change.name} {_setting(change.a)} → {_setting(change.b)}" for change in comparison.changes)
    return f"changed: {', '.join(said)}"


def _voter(kind: str, found: Compared, comparison: Comparison) -> Table:
    rows = [
        (f"{k}", *row)
        for k, at in found.at.items()
        for row in _rows(at, headline=found.headline if k == comparison.k else "")
    ]
    return Table(
        title=f"B - A, {kind} votes",
        caption=(
            f"In points, with the 95 % interval; a hit is useful from {comparison.useful_from} on. * marks what the verdict speaks of. "
            f"Searches: precision, and judged/shown below it; within surfaces; p deals the labels anew to whole searches. "
            f"Questions that both sides were asked: p flips the sign of each. Holm: p for all k together. {_voters(found)}"
        ),
        columns=("k", "over", "A", "B", "B - A", "p", "Holm", "n"),
        rows=tuple(rows),
        words=2,
    )


def _rows(at: AtK, *, headline: str) -> list[tuple[str, ...]]:
    mark = {"unpaired": "", "paired": "", headline: " *"}
    rows: list[tuple[str, ...]] = [
        (
            f"searches{mark['unpaired']}",
            _precise(at.a),
            _precise(at.b),
            *_difference(at.unpaired),
            f"{at.a.searches:,} / {at.b.searches:,}",
        )
    ]
    if at.paired is not None:
        over = f"{at.paired.questions:,} ({at.paired.better:,} better, {at.paired.worse:,} worse)"
        rows.append((f"questions{mark['paired']}", "", "", *_difference(at.paired), over))
    return rows


def _difference(found: UnpairedDifference | PairedDifference | None) -> tuple[str, str, str]:
    if found is None:
        return NOT_MEASURED, "", ""
    return (
        f"{points(found.value, sign=True)} ({_interval(found)})",
        _chance(found.p),
        _chance(found.p_adjusted),
    )


def _interval(found: UnpairedDifference | PairedDifference) -> str:
    if found.low is None or found.high is None:
        return ONE_VOTER if found.actors == 1 else "no interval"
    return f"{points(found.low, sign=True)} to {points(found.high, sign=True)}"


def _chance(p: float | None) -> str:
    if p is None:
        return "not tested"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _precise(side: SideAt) -> str:
    if side.precision is None or side.judged_share is None:
        return NOT_MEASURED
    return f"{side.precision:.3f}\n{side.judged:,}/{side.shown:,}"


def _voters(found: Compared) -> str:
    return f"A: {found.a.votes:,} votes by {found.a.actors:,} actor(s); B: {found.b.votes:,} by {found.b.actors:,}."


def _rates(comparison: Comparison) -> Table:
    a, b = comparison.latency.a, comparison.latency.b
    return Table(
        title="Searches",
        caption="For information: rates over searches with the 95 % interval of their difference, in points; latency without one.",
        columns=("", "A", "B", "B - A"),
        rows=(
            _rate("hit rate", comparison.hit_rate),
            _rate("degraded", comparison.degraded),
            _latency(50, a.p50_ms, b.p50_ms),
            _latency(95, a.p95_ms, b.p95_ms),
        ),
    )


def _latency(percent: int, a: float | None, b: float | None) -> tuple[str, ...]:
    few = f"n < {smallest_sample(percent)}"
    texts = (few if value is None else f"{value:,.1f}" for value in (a, b))
    return f"latency p{percent}, ms", *texts, "" if a is None or b is None else f"{b - a:+,.1f}"


def _rate(name: str, found: RateDifference) -> tuple[str, ...]:
    sides = (
        NOT_MEASURED if side.rate is None else f"{side.rate:.1%} ({side.n:,}/{side.of:,})"
        for side in (found.a, found.b)
    )
    if found.difference is None or found.low is None or found.high is None:
        return name, *sides, NOT_MEASURED
    interval = f"{points(found.low, sign=True)} to {points(found.high, sign=True)}"
    return name, *sides, f"{points(found.difference, sign=True)} ({interval})"
