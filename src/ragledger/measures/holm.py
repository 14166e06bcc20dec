"""Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979): several looks at one question, one error rate."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["holm"]


def holm(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """The p values, adjusted for how many there are, each in its place. What was not tested is None and counts for nothing."""
    order = sorted((p, place) for place, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for step, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - step)))
        adjusted[place] = largest
    return tuple(adjusted)
