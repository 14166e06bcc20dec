"""Every cell of the rollups from searches one by one: plain Python that shares nothing with the collector's SQL.

`ragledger verify` compares the two. A cell has a key, (table, grain, project, bucket, series, ...), and columns. What a
column means is said in docs/collector.md; shares and scores are rounded to 12 decimals and added exactly.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

from ragledger.model import ActorKind

from .histogram import bin_of
from .precision import CUTS
from .ranks import TOP

__all__ = [
    "Cells",
    "Counted",
    "CountedHit",
    "Key",
    "add",
    "cells_of",
    "day_of",
    "latency_parts_of",
    "rounded",
    "series_of",
]

Key = tuple[Any, ...]
Cells = dict[Key, dict[str, Any]]

_WIDE = Context(prec=1000, rounding=ROUND_HALF_UP)
_STEP = Decimal("1e-12")
_STARTS: dict[str, dict[str, int]] = {"minute": {}, "hour": {"minute": 0}, "day": {"minute": 0, "hour": 0}}
_GRAINS = {"rollup_document_days": ("day",)}  # the others have all
_PART = 16
_BIN = 7  # its place in a key of latency, from the project on
_EXTREMES = {"first_ran_at": min, "last_ran_at": max, "best_rank": min, "first_day": min}


@dataclass(slots=True, kw_only=True)
class CountedHit:
    """A hit, who accessed it, and how many actors of each kind found it useful or not."""

    rank: int
    document_id: str | None
    source_kind: str | None
    admitted: bool
    padding: bool
    opened_by: set[ActorKind] = field(default_factory=set)
    verdicts: dict[ActorKind, list[bool]] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Counted:
    """A logical search with all that is known of it; `order` is the latest delivery's."""

    started_at: datetime
    project: str
    corpus: str | None
    surface: str | None
    has_session: bool
    actor_kind: str
    epoch: str
    status: str
    skip_reason: str | None
    degraded: bool
    degraded_reason: str | None
    vector_available: bool | None
    latency_ms: float | None
    candidate_count: int | None
    admitted_count: int | None
    top_candidate_score: float | None
    top_admitted_score: float | None
    hits: list[CountedHit] = field(default_factory=list)
    order: list[int] | None = None


def cells_of(searches: Iterable[Counted]) -> Cells:
    """All cells that these searches make, except `epochs` and what is made of these cells."""
    cells: Cells = {}
    for search in searches:
        for table, rest, amounts in _said(search):
            for grain, bucket in _buckets(table, search.started_at):
                key = (table, grain, search.project, bucket, *rest)
                add(cells.setdefault(key, {}), amounts)
    return cells


def latency_parts_of(cells: Cells) -> Cells:
    """The searches of the cells of latency over all series, of hours and days, in parts of 16 bins."""
    found: Cells = {}
    for (table, grain, *rest), cell in cells.items():
        if table == "rollup_latency" and grain != "minute":
            (project, bucket), number = rest[:2], rest[_BIN]
            key = ("rollup_latency_parts", grain, project, bucket, number // _PART)
            bins = [cell["searches"] * (number % _PART == place) for place in range(_PART)]
            add(found.setdefault(key, {}), {"searches": cell["searches"], "bins": bins})
    return found


def add(cell: dict[str, Any], amounts: dict[str, Any]) -> None:
    """Counts more into a cell: sums, and of some columns the least or the largest."""
    for column, amount in amounts.items():
        known = cell.get(column)
        if known is None or amount is None:
            cell[column] = amount if known is None else known
        elif column in _EXTREMES:
            cell[column] = _EXTREMES[column](known, amount)
        elif isinstance(known, list):
            cell[column] = [one + more for one, more in zip(known, amount, strict=True)]
        else:
            cell[column] = _WIDE.add(known, amount) if isinstance(known, Decimal) else known + amount


def series_of(search: Counted) -> Key:
    """What is counted together."""
    return (search.corpus, search.surface, search.has_session, search.actor_kind, search.epoch)


def day_of(moment: datetime) -> datetime:
    """Midnight before it, UTC."""
    return moment.astimezone(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)


def rounded(value: float | Fraction) -> Decimal:
    """To 12 decimals, half away from zero; a float by its 15 significant digits, as Postgres reads it."""
    if isinstance(value, Fraction):
        exact = _WIDE.divide(Decimal(value.numerator), Decimal(value.denominator))
    else:
        exact = Decimal(f"{value:.15g}")
    return exact.quantize(_STEP, context=_WIDE)


def _buckets(table: str, moment: datetime) -> Iterator[tuple[str, datetime]]:
    minute = moment.astimezone(timezone.utc).replace(second=0, microsecond=0)
    for grain in _GRAINS.get(table, _STARTS):
        yield grain, minute.replace(**_STARTS[grain])  # type: ignore[arg-type]


def _said(search: Counted) -> Iterator[tuple[str, Key, dict[str, Any]]]:
    series = series_of(search)
    yield "rollup_searches", series, _counts(search)
    ran = search.status != "skipped"
    if not ran:
        yield "rollup_words", (*series, "skip_reason", search.skip_reason or ""), {"n": 1}
    if search.degraded and ran:
        yield "rollup_words", (*series, "degraded_reason", search.degraded_reason or ""), {"n": 1}
    if search.status != "ok":
        return
    if search.latency_ms is not None:
        yield "rollup_latency", (*series, bin_of(search.latency_ms)), {"searches": 1}
    admitted = [hit for hit in search.hits if hit.admitted]
    for hit in admitted:
        yield "rollup_words", (*series, "source_kind", hit.source_kind or ""), {"n": 1}
        yield from _at_its_place(series, _place(_position(search, hit)), hit)
    for rest, amounts in _judged(search, admitted):
        yield "rollup_judged", (*series, *rest), amounts
    for document, amounts in _documents(search):
        yield "rollup_document_days", (search.corpus or "", document), amounts


def _counts(search: Counted) -> dict[str, Any]:
    ok, ran = search.status == "ok", search.status != "skipped"
    any_hit = any(hit.admitted for hit in search.hits)
    real_hit = any(hit.admitted and not hit.padding for hit in search.hits)
    counts: dict[str, Any] = {
        "searches": 1,
        **{status: int(search.status == status) for status in ("ok", "error", "cancelled", "skipped")},
        "degraded": int(search.degraded and ran),
        "vector_available": int(search.vector_available is True),
        "vector_unavailable": int(search.vector_available is False),
        "untold": int(ok and search.admitted_count is None and not real_hit),
        "empty": int(ok and search.admitted_count is not None and not any_hit),
        "found": int(ok and real_hit),
        "delivered": int(ok and search.order is not None),
        "timed": int(ok and search.latency_ms is not None),
        "first_ran_at": search.started_at if ran else None,
        "last_ran_at": search.started_at if ran else None,
    }
    for name, count in (("candidates", search.candidate_count), ("admitted", search.admitted_count)):
        counts |= {name: count or 0, f"{name}_known": int(count is not None)}
    for name, score in (
        ("top_candidate", search.top_candidate_score),
        ("top_admitted", search.top_admitted_score),
    ):
        known = score is not None and math.isfinite(score)
        counts |= {f"{name}_sum": rounded(score) if known and score is not None else Decimal(0)}
        counts |= {f"{name}_known": int(known)}
    return counts


def _position(search: Counted, hit: CountedHit) -> int | None:
    if search.order is None:
        return hit.rank
    return search.order.index(hit.rank) + 1 if hit.rank in search.order else None


def _place(position: int | None) -> int:
    return 0 if position is None else min(position, TOP + 1)


def _at_its_place(series: Key, place: int, hit: CountedHit) -> Iterator[tuple[str, Key, dict[str, Any]]]:
    yield "rollup_shown", (*series, place), {"shown": 1, "accessed": int(bool(hit.opened_by))}
    for voter in hit.opened_by | hit.verdicts.keys():
        judged = voter in hit.verdicts
        said = {
            "accessed": int(voter in hit.opened_by),
            "judged": int(judged),
            "useful": _share(hit.verdicts[voter]) if judged else Decimal(0),
        }
        yield "rollup_votes", (*series, place, voter), said


def _share(verdicts: list[bool]) -> Decimal:
    return rounded(Fraction(sum(verdicts), len(verdicts)))


def _judged(search: Counted, admitted: list[CountedHit]) -> Iterator[tuple[Key, dict[str, Any]]]:
    for k in CUTS:
        by_voter: dict[ActorKind, list[Decimal]] = defaultdict(list)
        for hit in admitted:
            position = _position(search, hit)
            if position is not None and position <= k:
                for voter, verdicts in hit.verdicts.items():
                    by_voter[voter].append(_share(verdicts))
        for voter, shares in by_voter.items():
            useful, judged = sum(shares, Decimal(0)), len(shares)
            yield (
                (voter, k),
                {
                    "searches": 1,
                    "useful": useful,
                    "judged": judged,
                    "useful_sq": _WIDE.multiply(useful, useful),
                    "judged_sq": judged * judged,
                    "useful_judged": _WIDE.multiply(useful, Decimal(judged)),
                },
            )


def _documents(search: Counted) -> Iterator[tuple[str, dict[str, Any]]]:
    hits: dict[str, list[CountedHit]] = defaultdict(list)
    for hit in search.hits:
        if hit.document_id is not None:
            hits[hit.document_id].append(hit)
    for document, found in hits.items():
        admitted = [hit for hit in found if hit.admitted]
        verdicts = [one for hit in admitted for given in hit.verdicts.values() for one in given]
        yield (
            document,
            {
                "retrieved": 1,
                "admitted": int(bool(admitted)),
                "accessed": int(any(hit.opened_by for hit in admitted)),
                "judged": int(bool(verdicts)),
                "useful": int(True in verdicts),
                "not_useful": int(False in verdicts),
                "best_rank": min((hit.rank for hit in admitted), default=None),
            },
        )
