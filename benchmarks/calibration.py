"""Does `calibrate` find the weight that is best, and does it leave a good one alone? Votes with a known truth.

    python benchmarks/calibration.py [--seeds 60] [--votes 2200]

Two signals of equal worth over 200 documents a question, so that the best weight is known: 0.5. The top 10 under the logged
weight are shown, each is voted on with chance 0.5 / rank, and nothing else is seen. Per row: the mean of the estimate over
the seeds and how it scatters, the true precision@10 before and after, and how often a change was recommended. A last row
has the best weight logged: nothing to gain. Goals: the mean within 0.05 of 0.5 whatever was logged, and a change in at
most 5 % of the runs with nothing to gain (a binomial tolerance is printed beside it).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ragledger.measures.crossfit import cross_fitted, fit
from ragledger.measures.decision import decide
from ragledger.measures.findings import normalised
from ragledger.measures.pairs import Pairs, ordered, pairs_of, within_searches

BEST = 0.5
DOCUMENTS, SHOWN = 200, 10
RELEVANT, LIFT, NOISE = 0.08, 0.10, 0.085
VOTES_PER_SEARCH = 1.464  # the sum of 0.5 / rank over ten ranks


class World(NamedTuple):
    """Questions by documents: whether it is useful, and what the two signals say."""

    useful: np.ndarray
    signals: np.ndarray


def world(chance: np.random.Generator, questions: int) -> World:
    """The vector signal lies higher than the lexical one: an offset must not matter."""
    useful = chance.random((questions, DOCUMENTS)) < RELEVANT
    noise = chance.normal(0, NOISE, (2, questions, DOCUMENTS))
    return World(useful, np.array([0.35, 0.20])[:, None, None] + LIFT * useful + noise)


def shown(seen: World, weight: float) -> np.ndarray:
    """The first documents of every question, best first."""
    fused = weight * seen.signals[0] + (1 - weight) * seen.signals[1]
    return np.argsort(-fused, axis=1)[:, :SHOWN]


def precision(seen: World, weight: float) -> float:
    """True precision@10: of everything, judged or not."""
    return float(np.take_along_axis(seen.useful, shown(seen, weight), 1).mean())


def votes(chance: np.random.Generator, seen: World, logged: float) -> Pairs:
    """The pairs that voters leave behind who look at the top more often than at the bottom."""
    voted = chance.random((len(seen.useful), SHOWN)) < 0.5 / np.arange(1, SHOWN + 1)
    search, place = np.nonzero(voted)
    document = shown(seen, logged)[search, place]
    signals = seen.signals[:, search, document].T
    left, right = within_searches(search, seen.useful[search, document])
    gaps = signals[left] - signals[right]
    return pairs_of(gaps, search[left], ordered(gaps, np.array([logged, 1 - logged])))


class Row(NamedTuple):
    estimates: np.ndarray
    before: float
    after: float
    changes: int
    pairs: float


def row(logged: float, seeds: range, many_votes: int, truth: World) -> Row:
    """The same experiment over the seeds."""
    estimates, changes, pairs = [], 0, 0
    for seed in seeds:
        chance = np.random.default_rng(seed)
        found = votes(chance, world(chance, round(many_votes / VOTES_PER_SEARCH)), logged)
        scale = found.gaps.std(axis=0)
        found = found._replace(gaps=found.gaps / scale)
        estimates.append(normalised(fit(found).estimate / scale)[0])
        changes += decide(cross_fitted(found, seed)) == "recommend"
        pairs += len(found.query)
    return Row(
        np.array(estimates),
        precision(truth, logged),
        float(np.mean([precision(truth, estimate) for estimate in estimates])),
        changes,
        pairs / len(seeds),
    )


def lines(seeds: int, many_votes: int) -> Iterator[str]:
    truth = world(np.random.default_rng(10_000), 1_000)
    yield f"{many_votes:,} votes, {seeds} seeds, best weight {BEST}, P@10 there {precision(truth, BEST):.3f}"
    yield "logged  pairs  estimate: mean  sd   5 % to 95 %     P@10 logged -> estimate  changes"
    for logged in (0.2, 0.6, 0.9, BEST):
        found = row(logged, range(seeds), many_votes, truth)
        low, high = np.percentile(found.estimates, [5, 95])
        yield (
            f"{logged:6.1f} {found.pairs:6.0f}           {found.estimates.mean():.3f} {found.estimates.std(ddof=1):.3f}  "
            f"{low:.3f} to {high:.3f}      {found.before:.3f} -> {found.after:.3f}         {found.changes} of {seeds}"
        )
    allowed = 0.05 + 1.645 * (0.05 * 0.95 / seeds) ** 0.5
    yield f"changes with nothing to gain: {found.changes / seeds:.1%} (goal 5 %, with binomial tolerance {allowed:.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--votes", type=int, default=2200)
    given = parser.parse_args()
    for line in lines(given.seeds, given.votes):
        print(line, flush=True)


if __name__ == "__main__":
    main()
