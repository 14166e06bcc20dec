"""Is `ragledger compare` right? Simulated epochs with correlated votes, many of each kind.

    python benchmarks/comparison.py --seeds 1000
    python benchmarks/comparison.py --only power --seeds 1000

`same`: two epochs that are alike are told apart in at most 5 %, and the interval of the difference holds the true one in 93 to
98 %, over all searches (on one surface, and on three that differ and shift) and paired by question. `change`: the same
coverage where B is better. `voters`: two epochs that are alike, whose voters differ in how strict they are, are called
better or worse in at most 5 %, over all searches and paired by question, and the interval holds the truth in at least 93 %.
`family`: with Holm over k = 1, 3, 5, 10, in at most 5 % anything is found where nothing changed, and no verdict points the
wrong way more often where B is better, worse, or better further down alone; the whole of `measures/compared.py` runs. `power`: at the planned number of votes a change is found as often as the formula says, within 3
points. Exit 1 when a cell is outside by more than chance explains (four standard errors). Speed: `benchmarks/compare_speed.py`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable

import numpy as np
from comparison_world import CHANGES, RANKED, STRICTNESS, Votes, asked_by, family
from intervals import seed_of_commit
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ragledger.measures.difference import Actors, Clusters, Difference, difference
from ragledger.measures.interval import Sums, clustered
from ragledger.measures.paired import Paired, differences, paired, sign_flipped
from ragledger.measures.paired_voters import Said, voters_term
from ragledger.measures.permutation import Tested, permuted
from ragledger.measures.power import votes_needed

PRECISIONS = (0.3, 0.6, 0.9)
CORRELATIONS = (0.0, 0.3)
SEARCHES = (30, 100, 300)
AIMS = ((0.6, 0.7), (0.3, 0.4), (0.9, 0.8))
ALPHA, POWER = 0.05, 0.8
LOWEST, HIGHEST = 0.93, 0.98
POWER_WITHIN = 0.03
STANDARD_ERRORS = 4.0
SHUFFLES = 499
SURFACES = np.array([-0.1, 0.0, 0.04])
VOTERS = (5, 10, 20, 40)
WHO = ("others", "the same", "the same, unevenly")
MIXES = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])

Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, float, float, int, float], tuple[bool, bool]]


def over_all(
    rng: np.random.Generator, precision: float, correlation: float, n: int, gain: float
) -> tuple[bool, bool]:
    """Whether two epochs were told apart, and whether the interval held `gain`; one surface."""
    return _unpaired(rng, np.full(2 * n, precision), np.zeros(2 * n, dtype=np.int64), correlation, gain)


def stratified(
    rng: np.random.Generator, precision: float, correlation: float, n: int, gain: float
) -> tuple[bool, bool]:
    """The same where three surfaces differ and B has another mix of them."""
    surface = np.concatenate([rng.choice(3, size=n, p=mix) for mix in MIXES])
    return _unpaired(rng, precision + SURFACES[surface], surface, correlation, gain)


def by_question(
    rng: np.random.Generator, precision: float, correlation: float, n: int, gain: float
) -> tuple[bool, bool]:
    """The same for n questions asked on both sides, each as good on one as on the other."""
    judged = rng.integers(1, 6, size=2 * n)
    propensity = _propensities(rng, np.full(n, precision), correlation)
    propensity = np.concatenate([propensity, np.minimum(propensity + gain, 1.0)])
    useful = rng.binomial(judged, propensity)
    of_b = np.repeat([False, True], n)
    gains = differences(np.tile(np.arange(n), 2), of_b, useful.astype(float), judged.astype(float))
    found, tested = paired(gains), sign_flipped(gains, seed=int(rng.integers(2**31)), shuffles=SHUFFLES)
    true = float(np.mean(propensity[n:] - propensity[:n]))
    if found is None or found.low is None or found.high is None or tested is None:
        return False, True
    return tested.p <= ALPHA, found.low <= true <= found.high


def by_voters(rng: np.random.Generator, votes: Votes) -> tuple[bool, bool, bool]:
    """Whether two epochs that are alike were told apart, by p alone, by p and interval; and whether the interval held 0."""
    zero = np.zeros(len(votes.of_b), dtype=np.int64)
    actors = Actors(
        of_b=votes.of_b, surface=zero, actor=votes.actor, useful=votes.useful, judged=votes.judged
    )
    clusters = Clusters(
        of_b=votes.of_b, surface=zero, useful=votes.useful, judged=votes.judged, actors=actors
    )
    tested = permuted(clusters, seed=int(rng.integers(2**31)), shuffles=SHUFFLES)
    return _told(difference(clusters), tested)


def by_voters_paired(rng: np.random.Generator, votes: Votes) -> tuple[bool, bool, bool]:
    """The same, paired by question."""
    gains = differences(votes.question, votes.of_b, votes.useful, votes.judged)
    said = Said(
        question=votes.question, of_b=votes.of_b, actor=votes.actor, useful=votes.useful, judged=votes.judged
    )
    tested = sign_flipped(gains, seed=int(rng.integers(2**31)), shuffles=SHUFFLES)
    return _told(paired(gains, voters_term(said)), tested)


def _told(found: Difference | Paired | None, tested: Tested | None) -> tuple[bool, bool, bool]:
    if found is None or found.low is None or found.high is None or tested is None:
        return False, False, True
    by_chance, held = tested.p <= ALPHA, found.low <= 0 <= found.high
    return by_chance, by_chance and not held, held


def power_at(
    rng: np.random.Generator, aim: tuple[float, float], correlation: float, runs: int
) -> tuple[int, float]:
    """The planned votes a side, and how often the change was found there."""
    before, after = aim
    useful, judged = _votes(rng, np.full(20_000, before), correlation)
    effect = clustered(Sums.of(zip(useful.tolist(), judged.tolist(), strict=True)))
    if effect is None:
        raise AssertionError("unreachable")
    votes = votes_needed(before, after, power=POWER, alpha=ALPHA, design_effect=effect.design_effect)
    n = math.ceil(votes / judged.mean())
    surface = np.zeros(2 * n, dtype=np.int64)
    told = [
        _unpaired(rng, np.full(2 * n, before), surface, correlation, after - before)[0] for _ in range(runs)
    ]
    return votes, float(np.mean(told))


def _unpaired(
    rng: np.random.Generator, precision: Floats, surface: NDArray[np.int64], correlation: float, gain: float
) -> tuple[bool, bool]:
    of_b = np.repeat([False, True], len(surface) // 2)
    useful, judged = _votes(rng, precision + gain * of_b, correlation)
    clusters = Clusters(of_b=of_b, surface=surface, useful=useful, judged=judged)
    found = difference(clusters)
    tested = permuted(clusters, seed=int(rng.integers(2**31)), shuffles=SHUFFLES)
    if found is None or found.low is None or found.high is None or tested is None:
        return False, True
    return tested.p <= ALPHA, found.low <= gain <= found.high


def _votes(rng: np.random.Generator, precision: Floats, correlation: float) -> tuple[Floats, Floats]:
    judged = rng.integers(1, 6, size=len(precision))
    useful = rng.binomial(judged, _propensities(rng, precision, correlation))
    return useful.astype(float), judged.astype(float)


def _propensities(rng: np.random.Generator, precision: Floats, correlation: float) -> Floats:
    if correlation == 0:
        return precision
    concentration = (1 - correlation) / correlation
    return rng.beta(precision * concentration, (1 - precision) * concentration)


WORLDS: dict[str, World] = {"one surface": over_all, "three surfaces": stratified, "paired": by_question}


def same_or_changed(
    rng: np.random.Generator, names: list[str], runs: int, gain: float, console: Console
) -> int:
    """Prints rejections (where nothing changed) and coverage; returns how many cells are wrong."""
    columns = ("told", "held") if gain == 0 else ("held",)
    what = "told apart, and interval held the truth" if gain == 0 else f"B better by {gain}: interval held it"
    wrong = 0
    for name in names:
        heads = (f"{n} {column}" for n in SEARCHES for column in columns)
        table = Table(
            "precision", "correlation", *heads, title=f"{name}: {what}; {runs:,} comparisons per cell"
        )
        for precision, correlation in itertools.product(PRECISIONS, CORRELATIONS):
            cells = []
            for n in SEARCHES:
                found = [WORLDS[name](rng, precision, correlation, n, gain) for _ in range(runs)]
                told, held = (float(np.mean(column)) for column in zip(*found, strict=True))
                wrong += outside(held, runs)
                wrong += gain == 0 and told > ALPHA + STANDARD_ERRORS * _error(ALPHA, runs)
                cells += [f"{told:.3f}", f"{held:.3f}"][-len(columns) :]
            table.add_row(str(precision), str(correlation), *cells)
        console.print(table)
    return wrong


def voters_differ(rng: np.random.Generator, runs: int, console: Console) -> int:
    """Prints how often voters who differ tell two epochs apart that are alike; returns how many cells are wrong."""
    heads = ("over", "voters", "searches a side", "voters a side", "p alone", "told apart", "held")
    table, wrong = Table(*heads), 0
    for over, told in (("searches", by_voters), ("questions", by_voters_paired)):
        for who, n, voters in itertools.product(WHO, (50, 150), VOTERS):
            found = [
                told(rng, asked_by(rng, who, voters, n, differ=over == "questions")) for _ in range(runs)
            ]
            by_chance, apart, held = (float(np.mean(column)) for column in zip(*found, strict=True))
            wrong += apart > ALPHA + STANDARD_ERRORS * _error(ALPHA, runs)
            wrong += held < LOWEST - STANDARD_ERRORS * _error(ALPHA, runs)
            shares = (f"{share:.3f}" for share in (by_chance, apart, held))
            table.add_row(over, who, str(n), str(voters), *shares)
    console.print(f"voters whose precision differs by {STRICTNESS} (sd); {runs:,} comparisons per cell")
    console.print(table)
    return wrong


def families(rng: np.random.Generator, runs: int, console: Console) -> int:
    """Prints what is found at several k together, and which way verdicts point; returns how many cells are wrong."""
    heads = ("over", "B is", "searches a side", "Holm: false", *(f"k = {k}" for k in RANKED))
    table, wrong = Table(*heads, "better", "worse"), 0
    slack = STANDARD_ERRORS * _error(ALPHA, runs)
    for over, change, n in itertools.product(("searches", "questions"), CHANGES, (50, 150)):
        found = [family(rng, change, n, SHUFFLES, paired=over == "questions") for _ in range(runs)]
        false = float(np.mean([one.false for one in found]))
        better, worse = (float(np.mean([one.word == word for one in found])) for word in ("better", "worse"))
        against = {"the same": better + worse, "worse": better}.get(change, worse)
        wrong += (false > ALPHA + slack) + (against > ALPHA + slack)
        told = (f"{np.mean([one.told[k] for one in found]):.3f}" for k in RANKED)
        unchanged = change not in {"better", "worse"}
        table.add_row(
            over,
            change,
            str(n),
            f"{false:.3f}" if unchanged else "none",
            *told,
            f"{better:.3f}",
            f"{worse:.3f}",
        )
    console.print(f"several k with Holm, and the verdict at k = 5; {runs:,} comparisons per cell")
    console.print(table)
    return wrong


def power(rng: np.random.Generator, runs: int, console: Console) -> int:
    """Prints the power at the planned number; returns how many cells are wrong."""
    table = Table("from", "to", "correlation", "votes a side", "planned", "found")
    wrong = 0
    for aim in AIMS:
        for correlation in CORRELATIONS:
            votes, found = power_at(rng, aim, correlation, runs)
            wrong += abs(found - POWER) > POWER_WITHIN + STANDARD_ERRORS * _error(POWER, runs)
            table.add_row(*map(str, aim), str(correlation), f"{votes:,}", f"{POWER:.3f}", f"{found:.3f}")
    console.print(f"power at the planned number of votes; {runs:,} comparisons per cell")
    console.print(table)
    return wrong


def outside(share: float, runs: int) -> bool:
    """Whether a coverage lies outside of the bounds by more than chance explains."""
    slack = STANDARD_ERRORS * _error(ALPHA, runs)
    return not LOWEST - slack <= share <= HIGHEST + slack


def _error(share: float, runs: int) -> float:
    return math.sqrt(share * (1 - share) / runs)


def main() -> int:
    """Prints the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seeds", type=int, default=200, help="simulated comparisons per cell")
    options.add_argument("--seed", type=int, default=None, help="default: from the commit")
    options.add_argument("--only", choices=("same", "change", "voters", "family", "power"), default=None)
    options.add_argument("--world", choices=tuple(WORLDS), default=None, help="one kind of epochs only")
    given = options.parse_args()
    seed = given.seed if given.seed is not None else seed_of_commit()
    rng = np.random.default_rng(seed)
    console = Console(width=110)
    console.print(f"seed {seed}")
    wrong = 0
    names = [given.world] if given.world else list(WORLDS)
    if given.only in (None, "same"):
        wrong += same_or_changed(rng, names, given.seeds, 0.0, console)
    if given.only in (None, "change"):
        wrong += same_or_changed(rng, names, given.seeds, 0.05, console)
    if given.only in (None, "voters"):
        wrong += voters_differ(rng, given.seeds, console)
    if given.only in (None, "family"):
        wrong += families(rng, given.seeds, console)
    if given.only in (None, "power"):
        wrong += power(rng, given.seeds, console)
    console.print(f"{wrong} cells wrong by more than chance")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
