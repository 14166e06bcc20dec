"""Weights fitted on pairs, and what they gain over the running ones on questions that they were not fitted on.

    objective      share of pairs that the fused score orders right, pooled over pairs
    z(w)           (best objective - objective at w) / the standard error of that difference, by question
    flat region    the weights with z of at most 1: the votes cannot tell them from the best
    estimate       the centre of the flat region: the mean of all weights, each counting exp(-z^2)
    gain           5 folds by question: fitted on four, scored on the fifth; (right by it - right by the running
                   weights) / pairs, with a ratio-t interval by question
    spread         the estimate on resampled questions

The unit is the question: its pairs share hits, so they are anything but independent. Only the cross-fitted gain may
be acted on: the objective at the estimate is the best of many, hence too good. The centre, and not the single best weights,
because the objective is flat and its best scatters (docs/decisions.md, 54).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .pairs import Floats, Pairs, Truths, ordered, right_by_query
from .simplex import around, lattice
from .student import t_quantile

__all__ = ["FOLDS", "Fit", "Gain", "Spread", "cross_fitted", "fit", "ratio_t", "resampled", "spread"]

FOLDS = 5
_CLOSEST = 3  # how often the lattice is drawn together round a sharp optimum
_CHUNK = 50  # resamples at a time


class Fit(NamedTuple):
    """The estimate; the lattice that it was found on, which of it is flat, and per question what it orders right."""

    estimate: Floats
    points: Floats
    flat: Truths
    right: Floats
    total: Floats
    covariance: Floats


class Gain(NamedTuple):
    """A difference of shares of pairs, with its 95 % interval and standard error; an error of 0: no pair changed."""

    value: float
    low: float
    high: float
    error: float


class Spread(NamedTuple):
    """The middle 95 % of the estimates on resampled questions, per signal, and their standard deviation."""

    low: Floats
    high: Floats
    deviation: Floats


def fit(pairs: Pairs) -> Fit:
    """The estimate on these pairs. The lattice is drawn together as long as too few of its points are flat."""
    signals = pairs.gaps.shape[1]
    points = lattice(signals)
    found = _on(pairs, points)
    for _ in range(_CLOSEST):
        if found.flat.sum() >= 2 * signals:
            break
        points = around(points, found.estimate)
        found = _on(pairs, points)
    return found


def _on(pairs: Pairs, points: Floats) -> Fit:
    right, total = right_by_query(pairs, points)
    share = right.sum(axis=0) / total.sum()
    covariance = _covariance(right, total, share)
    estimate, flat = _centre(share, covariance, points)
    return Fit(estimate, points, flat, right, total, covariance)


def _covariance(right: Floats, total: Floats, share: Floats) -> Floats:
    """Of the objectives at all points, from the linearised ratios of the questions."""
    errors = right - total[:, None] * share
    many = len(total)
    scaled: Floats = errors.T @ errors * (many / max(many - 1, 1) / total.sum() ** 2)
    return scaled


def _centre(share: Floats, covariance: Floats, points: Floats) -> tuple[Floats, Truths]:
    best = int(np.argmax(share))
    variance = np.diag(covariance) + covariance[best, best] - 2 * covariance[best]
    behind = share[best] - share
    # Where no question tells two weights apart, the difference and its error are both 0: as good as the best.
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(behind > 0, behind / np.sqrt(np.maximum(variance, 0.0)), 0.0)
    counts = np.exp(-(z**2))
    return counts @ points / counts.sum(), z <= 1


def cross_fitted(pairs: Pairs, seed: int) -> Gain:
    """What the estimate gains over the running weights on questions that it was not fitted on."""
    questions = int(pairs.query[-1]) + 1
    fold = np.random.default_rng(seed).permutation(np.arange(questions) % FOLDS)
    better = np.zeros(len(pairs.query))
    for number in range(FOLDS):
        scored = (fold == number)[pairs.query]
        weights = fit(pairs.of(fold != number)).estimate
        better[scored] = ordered(pairs.gaps[scored], weights) - pairs.running[scored]
    above, below = np.bincount(pairs.query, better), np.bincount(pairs.query)
    return ratio_t(above.astype(np.float64), below.astype(np.float64))


def ratio_t(above: Floats, below: Floats) -> Gain:
    """sum(above) / sum(below) over clusters, with the interval of the linearised ratio and t of clusters - 1."""
    many = len(below)
    value = float(above.sum() / below.sum())
    errors = above - value * below
    error = math.sqrt(many / (many - 1) * float(errors @ errors)) / float(below.sum())
    half = t_quantile(0.975, many - 1) * error
    return Gain(value, value - half, value + half, error)


def resampled(questions: int, times: int, seed: int) -> Floats:
    """How often each question was drawn, a row per resample."""
    chance = np.random.default_rng(seed)
    return np.stack(
        [np.bincount(chance.integers(0, questions, questions), minlength=questions) for _ in range(times)]
    ).astype(np.float64)


def spread(found: Fit, drawn: Floats, scale: Floats) -> Spread:
    """Of the estimates on resamples, in units where a weight is divided by the scale of its signal."""
    estimates = []
    for start in range(0, len(drawn), _CHUNK):
        part = drawn[start : start + _CHUNK]
        shares = part @ found.right / (part @ found.total)[:, None]
        estimates += [_centre(share, found.covariance, found.points)[0] for share in shares]
    weights = np.array(estimates) / scale
    weights /= weights.sum(axis=1, keepdims=True)
    low, high = np.percentile(weights, [2.5, 97.5], axis=0)
    return Spread(low, high, weights.std(axis=0, ddof=1))
