"""Readings as the points of metrics, the same for OTLP and Prometheus. Pure.

Rollups are recomputed and not incremented, and late rows, votes and erasure change the past. So what searches came to are
gauges over a window, read anew each time; only what never goes down is a counter. What nobody knows
is absent, never 0 (P8).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

import msgspec

from ragledger.measures.interval import CONFIDENCE, Sums, clustered, wilson
from ragledger.measures.precision import judged_share
from ragledger.measures.rates import degraded_share, hit_rate

from .readings import HOUR, RECENT, WEEK, Readings, Searched, Voted, Written

__all__ = ["LARGEST", "Attributes", "Point", "points_of"]

LARGEST = 100
"""So many pairs of project and surface have points of their own, those with the most searches, and so many projects, the
oldest: a counter of the others must not fall. The others are summed under `otel.metric.overflow`, so that no application
can make series without end."""

_PROJECT = "ragledger.project"
_SURFACE = "ragledger.surface"
_WINDOW = "ragledger.window"
_STATUS = "ragledger.status"
_VECTOR_AVAILABLE = "ragledger.vector_available"
_VOTER = "ragledger.feedback.actor_kind"
_K = "ragledger.k"
_FATE = "ragledger.row.fate"
_OVERFLOW = "otel.metric.overflow"  # the word of OpenTelemetry's SDKs for the same thing

_NOBODY = {"project": None, "surface": None}
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)

Attributes = Mapping[str, "str | int | bool"]
_Row = TypeVar("_Row", Searched, Voted, Written)


class Point(NamedTuple):
    """One number of an instrument."""

    name: str
    value: float
    attributes: Attributes


def points_of(readings: Readings, *, largest: int = LARGEST) -> Iterator[Point]:
    """The numbers of every instrument."""
    own = _largest(_sizes(readings.searched), largest)

    def is_own(one: Searched | Voted) -> bool:
        return (one.project, one.surface) in own

    for searched in _spanned(_bounded(Searched, readings.searched, is_own, ("span",))):
        yield from _of_searches(searched)
    for voted in _bounded(Voted, readings.voted, is_own, ("voter", "k")):
        yield from _of_votes(voted)
    first = {one.project for one in readings.written[:largest]}
    for written in _bounded(Written, readings.written, lambda one: one.project in first, ()):
        yield from _of_records(written)
    yield Point("ragledger.collector.backlog", readings.backlog, {})
    yield Point("ragledger.collector.waiting.minutes", readings.minutes, {})
    yield Point("ragledger.collector.waiting.days", readings.days, {})


def _of_searches(one: Searched) -> Iterator[Point]:
    said = {**_whose(one.project, one.surface), _WINDOW: one.span}
    yield Point("ragledger.searches.vector", one.vector_available, {**said, _VECTOR_AVAILABLE: True})
    yield Point("ragledger.searches.vector", one.vector_unavailable, {**said, _VECTOR_AVAILABLE: False})
    if one.span == RECENT:  # an alert needs that, and nobody needs more of so short a time
        return
    for status in ("ok", "error", "cancelled", "skipped"):
        yield Point("ragledger.searches", getattr(one, status), {**said, _STATUS: status})
    yield Point("ragledger.searches.degraded", one.degraded, said)
    yield Point("ragledger.searches.told", one.told, said)
    if one.project is not None:  # the epochs of several applications are not the same ones
        yield Point("ragledger.epochs", one.epochs, said)
    yield from _known(
        "ragledger.degraded_share", degraded_share(one.degraded, one.ok + one.error + one.cancelled), said
    )
    rate = hit_rate(one.found, one.told)
    if rate is not None:
        yield from _estimated("ragledger.hit_rate", rate, wilson(rate, one.told, _Z), said)


def _of_votes(one: Voted) -> Iterator[Point]:
    said = {**_whose(one.project, one.surface), _WINDOW: WEEK, _VOTER: one.voter, _K: one.k}
    yield Point("ragledger.judged", one.judged, said)
    yield Point("ragledger.judged.searches", one.searches, said)
    yield from _known("ragledger.judged_share", judged_share(one.judged, one.shown), said)
    if one.judged:
        sums = Sums(
            clusters=one.searches,
            useful=one.useful,
            judged=one.judged,
            useful_sq=one.useful_sq,
            judged_sq=one.judged_sq,
            useful_judged=one.useful_judged,
        )
        interval = clustered(sums)
        bounds = (interval.low, interval.high) if interval is not None else None
        yield from _estimated("ragledger.precision", one.useful / one.judged, bounds, said)


def _of_records(one: Written) -> Iterator[Point]:
    said = _whose(one.project, None)
    fates = {
        "written": one.written,
        "refused": one.refused,
        "rejected": one.rejected,
        "expired_vote": one.expired,
    }
    for fate, records in fates.items():
        yield Point("ragledger.table.records", records, {**said, _FATE: fate})
    yield Point("ragledger.table.pending", one.pending, said)


def _estimated(
    name: str, value: float, bounds: tuple[float, float] | None, said: Attributes
) -> Iterator[Point]:
    yield Point(name, value, said)
    if bounds is not None:
        yield Point(f"{name}.low", bounds[0], said)
        yield Point(f"{name}.high", bounds[1], said)


def _known(name: str, value: float | None, said: Attributes) -> Iterator[Point]:
    if value is not None:
        yield Point(name, value, said)


def _whose(project: str | None, surface: str | None) -> dict[str, str | int | bool]:
    if project is None:
        return {_OVERFLOW: True}
    return {_PROJECT: project} if surface is None else {_PROJECT: project, _SURFACE: surface}


def _sizes(searched: Iterable[Searched]) -> dict[Any, int]:
    found: dict[Any, int] = defaultdict(int)
    for one in searched:
        found[one.project, one.surface] += one.ok + one.error + one.cancelled + one.skipped
    return found


def _largest(sizes: Mapping[Any, int], most: int) -> set[Any]:
    return set(sorted(sizes, key=lambda one: (-sizes[one], str(one)))[:most])


def _spanned(searched: Iterable[Searched]) -> Iterator[Searched]:
    """What was searched in the week and not in a shorter window was searched 0 times in that."""
    every = list(searched)
    yield from every
    there = {(one.span, one.project, one.surface) for one in every}
    for project, surface in {(one.project, one.surface) for one in every}:
        for span in (RECENT, HOUR):
            if (span, project, surface) not in there:
                yield Searched(span=span, project=project, surface=surface)


def _bounded(
    kind: type[_Row], rows: Iterable[_Row], owned: Callable[[_Row], bool], by: Sequence[str]
) -> Iterator[_Row]:
    """The rows of those that have points of their own, and the sums of the others, by the fields `by`."""
    rest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if owned(row):
            yield row
            continue
        values = {**msgspec.structs.asdict(row), **_NOBODY}
        key = tuple(values[name] for name in by)
        so_far = rest.setdefault(key, dict.fromkeys(values, 0))
        for name, value in values.items():
            so_far[name] = value if name in by or name in _NOBODY else so_far[name] + value
    for values in rest.values():
        yield kind(**values)
