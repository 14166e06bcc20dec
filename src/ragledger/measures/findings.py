"""From pairs to what is said of them: estimate, flat region, cross-fitted gain, spread, profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .calibration import Between, Profile, ProfilePoint, Share, Spreading
from .crossfit import Fit, Gain, cross_fitted, fit, resampled, spread
from .evidence import Evidence
from .interval import Sums, clustered
from .pairs import Floats, Pairs, ordered, right_by_query
from .refusion import Fusion

__all__ = ["Findings", "findings", "normalised"]

_STEPS = 50  # of a profile
_MOST_RESAMPLES, _FEWEST_RESAMPLES = 1000, 200
_MOST_CELLS = 10_000_000  # resamples x questions: 80 MB


class Findings(NamedTuple):
    """The fields of a calibration that come from the pairs; `weights` is the estimate as plain numbers."""

    weights: Floats
    running: dict[str, float]
    estimate: dict[str, float]
    flat: dict[str, Between]
    spread: dict[str, Spreading]
    gain: Gain
    ordered: dict[str, Share]
    profiles: tuple[Profile, ...]


def findings(found: Evidence, fusion: Fusion, seed: int, step: Callable[[int], None]) -> Findings:
    """Everything that the pairs say; `step` is told of each part that is done, five in all."""
    pairs, scale, names = found.pairs, found.scale, fusion.names
    best = fit(pairs)
    step(1)
    gain = cross_fitted(pairs, seed)
    step(1)
    questions = len(best.total)
    times = min(_MOST_RESAMPLES, max(_FEWEST_RESAMPLES, _MOST_CELLS // questions))
    drawn = resampled(questions, times, seed)
    scattered = spread(best, drawn, scale)
    step(1)
    weights = normalised(best.estimate / scale)
    flat = np.array([normalised(point / scale) for point in best.points[best.flat]])
    shares = {
        "running": _share(pairs, pairs.running),
        "estimate": _share(pairs, ordered(pairs.gaps, best.estimate)),
    }
    step(1)
    profiles = tuple(_profile(pairs, best, drawn, scale, names, place) for place in range(len(names)))
    step(1)
    return Findings(
        weights=weights,
        running=_by_name(names, normalised(np.array(fusion.weights))),
        estimate=_by_name(names, weights),
        flat={
            name: Between(low=float(flat[:, place].min()), high=float(flat[:, place].max()))
            for place, name in enumerate(names)
        },
        spread={
            name: Spreading(low=float(low), high=float(high), deviation=float(deviation))
            for name, low, high, deviation in zip(names, *scattered, strict=True)
        },
        gain=gain,
        ordered=shares,
        profiles=profiles,
    )


def normalised(weights: Floats) -> Floats:
    """The same weights with a sum of 1: a common factor changes no order."""
    scaled: Floats = weights / weights.sum()
    return scaled


def _by_name(names: tuple[str, ...], weights: Floats) -> dict[str, float]:
    return dict(zip(names, weights.tolist(), strict=True))


def _share(pairs: Pairs, right: Floats) -> Share:
    useful = np.bincount(pairs.query, right)
    judged = np.bincount(pairs.query)
    interval = clustered(Sums.of(zip(useful.tolist(), judged.tolist(), strict=True)))
    return Share(
        value=float(right.mean()),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def _profile(
    pairs: Pairs, best: Fit, drawn: Floats, scale: Floats, names: tuple[str, ...], place: int
) -> Profile:
    """From none of a signal to nothing but it; evenly where signals weigh alike, not in the numbers of the settings."""
    others = best.estimate.copy()
    others[place] = 0.0
    if not others.sum():
        others = np.ones(len(names))
        others[place] = 0.0
    alone = np.zeros(len(names))
    alone[place] = 1.0
    share = np.linspace(0.0, 1.0, _STEPS + 1)[:, None]
    line = (1 - share) * normalised(others) + share * alone
    right, total = right_by_query(pairs, line)
    low, high = np.percentile(drawn @ right / (drawn @ total)[:, None], [2.5, 97.5], axis=0)
    objective = right.sum(axis=0) / total.sum()
    return Profile(
        signal=names[place],
        points=tuple(
            ProfilePoint(
                weight=float(normalised(point / scale)[place]), ordered=float(o), low=float(a), high=float(b)
            )
            for point, o, a, b in zip(line, objective, low, high, strict=True)
        ),
    )
