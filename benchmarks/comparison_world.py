"""The simulated votes of `benchmarks/comparison.py`: by voters who differ, and on ten ranks of which several k are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragledger.measures.compared import Testing, compared
from ragledger.measures.comparison_facts import (
    ActorFact,
    ClusterFact,
    LatencyFact,
    PositionFact,
    SideFacts,
)
from ragledger.measures.facts import VoterFact
from ragledger.measures.precision import CUTS

__all__ = ["CHANGES", "RANKED", "STRICTNESS", "Family", "Votes", "asked_by", "family"]

RANKED = CUTS
CHANGES = ("the same", "better", "worse", "better from rank 6 on")
PRECISION, CORRELATION, GAIN = 0.6, 0.3, 0.15
VOTERS = 40
STRICTNESS = 0.1
LOOKED = 0.7 ** np.arange(10)
"""How often the hit at each rank is judged."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Votes:
    """Two votes on each search by one voter; every question is asked once on each side."""

    question: NDArray[np.int64]
    of_b: NDArray[np.bool_]
    actor: NDArray[np.int64]
    useful: Floats
    judged: Floats


@dataclass(frozen=True)
class Family:
    """What was told at each k with Holm, whether any of that is false, and the verdict."""

    told: dict[int, bool]
    false: bool
    word: str


def asked_by(rng: np.random.Generator, who: str, voters: int, n: int, *, differ: bool) -> Votes:
    """n questions of which each is as good on both sides; all are alike unless they `differ`.

    B is judged by `others`, or by the same voters as A.
    """
    concentration = (1 - CORRELATION) / CORRELATION
    quality = np.full(n, PRECISION)
    if differ:
        quality = rng.beta(PRECISION * concentration, (1 - PRECISION) * concentration, size=n)
    question, of_b = np.tile(np.arange(n), 2), np.repeat([False, True], n)
    if who == "the same, unevenly":
        parts = rng.dirichlet(np.ones(voters), size=2)
        actor = np.concatenate([rng.choice(voters, size=n, p=part) for part in parts])
    else:
        actor = rng.integers(0, voters, size=2 * n) + (voters * of_b if who == "others" else 0)
    strict = rng.normal(0.0, STRICTNESS, size=2 * voters)
    judged = np.full(2 * n, 2.0)
    useful = rng.binomial(2, np.clip(quality[question] + strict[actor], 0.0, 1.0)).astype(float)
    return Votes(question=question, of_b=of_b, actor=actor, useful=useful, judged=judged)


def family(rng: np.random.Generator, change: str, n: int, shuffles: int, *, paired: bool) -> Family:
    """One comparison by people, of n searches a side, with all that is told of it."""
    concentration = (1 - CORRELATION) / CORRELATION
    gains = {"better": np.full(10, GAIN), "worse": np.full(10, -GAIN)}.get(change, np.zeros(10))
    if change == "better from rank 6 on":
        gains[5:] = 2 * GAIN
    quality = rng.beta(PRECISION * concentration, (1 - PRECISION) * concentration, size=(2, n))
    if paired:
        quality[1] = quality[0]
    sides = []
    for place, gain in enumerate((np.zeros(10), gains)):
        # On the scale of all voters, so that a gain is one whatever the search is like.
        chance = 0.2 + 0.6 * quality[place][:, None] + gain
        judged = rng.random((n, 10)) < LOOKED
        useful = judged & (rng.random((n, 10)) < chance)
        sides.append(_side(useful, judged, rng.integers(0, VOTERS, size=n), paired=paired))
    testing = Testing(k=5, seed=int(rng.integers(2**31)), shuffles=shuffles)
    found = compared("human", (sides[0], sides[1]), testing)
    tests = {k: at.paired if paired else at.unpaired for k, at in found.at.items()}
    told = {k: test is not None and (test.p_adjusted or 1.0) <= 0.05 for k, test in tests.items()}
    unchanged = {"the same": CUTS, "better from rank 6 on": (1, 3, 5)}.get(change, ())
    return Family(told=told, false=any(told[k] for k in unchanged), word=found.verdict.word)


def _side(
    useful: NDArray[np.bool_], judged: NDArray[np.bool_], actor: NDArray[np.int64], *, paired: bool
) -> SideFacts:
    clusters, actors = [], []
    for number, (found, seen) in enumerate(zip(useful, judged, strict=True)):
        if not seen.any():
            continue
        said = [float(count) for k in CUTS for count in (found[:k].sum(), seen[:k].sum())]
        key = number.to_bytes(8, "big") if paired else None
        clusters.append(ClusterFact("human", "simulated", None, None, *said, key))
        actors.append(ActorFact("human", "simulated", None, None, *said, str(actor[number]), key))
    return SideFacts(
        epochs=(),
        mix=(),
        latency=LatencyFact(0, None, None),
        answers=(),
        shown=[PositionFact(rank, len(useful)) for rank in range(1, 11)],
        clusters=clusters,
        actors=actors,
        questions=(),
        voters=[VoterFact("human", int(judged.sum()), VOTERS, len(clusters))],
    )
