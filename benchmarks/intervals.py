"""How often 95 % intervals hold the true value: of a precision with correlated votes, and of a mean over searches.

    python benchmarks/intervals.py --runs 4000

First: true precision x correlation inside a search x searches with 1 to 5 votes each (`measures/interval.py`). Second: true
mean x what each search's value is, its own precision of so many votes or a value like nDCG's, x searches
(`measures/macro.py`). Exit 1 when a cell lies outside of 93 to 98 % by more than chance explains (four standard errors); of
means with 10 searches, above 99 %. The seed is printed; CI takes it from the commit.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from ragledger.measures.interval import Interval, Sums, clustered
from ragledger.measures.macro import mean

PRECISIONS = (0.3, 0.6, 0.9, 0.97)
CORRELATIONS = (0.0, 0.3)
SEARCHES = (10, 20, 50, 100, 300, 1000)
LOWEST, HIGHEST = 0.93, 0.98
STANDARD_ERRORS = 4.0
FEW_SEARCHES, HIGHEST_OF_FEW = 10, 0.99
GRADED = 15.0
"""The concentration of values like nDCG's: around 0.9 they have a standard deviation of 0.08."""

Draw = Callable[[np.random.Generator, float, int], "Interval | None"]
"""A window with a true value and so many searches: the interval that it gives."""


def pooled(correlation: float) -> Draw:
    """Precision over all votes, 1 to 5 a search."""

    def draw(rng: np.random.Generator, truth: float, searches: int) -> Interval | None:
        judged = rng.integers(1, 6, size=searches)
        return clustered(
            _sums(rng.binomial(judged, _propensities(rng, truth, correlation, searches)), judged)
        )

    return draw


def per_search(fewest: int, most: int, correlation: float) -> Draw:
    """The mean of each search's own precision."""

    def draw(rng: np.random.Generator, truth: float, searches: int) -> Interval | None:
        judged = rng.integers(fewest, most + 1, size=searches)
        useful = rng.binomial(judged, _propensities(rng, truth, correlation, searches))
        return _of_mean(useful / judged)

    return draw


def graded(rng: np.random.Generator, truth: float, searches: int) -> Interval | None:
    """The mean of values that vary little, as those of nDCG' do."""
    return _of_mean(rng.beta(truth * GRADED, (1 - truth) * GRADED, size=searches))


POOLED = {f"correlation {one}": pooled(one) for one in CORRELATIONS}
MEANS: dict[str, Draw] = {
    "1-5 votes": per_search(1, 5, 0.0),
    "1-5 votes, correlation 0.3": per_search(1, 5, 0.3),
    "3 votes": per_search(3, 3, 0.0),
    "5 votes": per_search(5, 5, 0.0),
    "like nDCG": graded,
}


def coverage(rng: np.random.Generator, draw: Draw, truth: float, searches: int, runs: int) -> float:
    """The share of `runs` in which the interval holds the truth."""
    held = 0
    for _ in range(runs):
        found = draw(rng, truth, searches)
        held += found is not None and found.low <= truth <= found.high
    return held / runs


def seed_of_commit() -> int:
    """From the commit that is checked out, so that no seed can be chosen; 0 where there is none."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return int(done.stdout.strip()[:8] or "0", 16)


def outside(share: float, runs: int, highest: float = HIGHEST) -> bool:
    """Whether a coverage lies outside of the bounds by more than chance explains."""
    slack = STANDARD_ERRORS * math.sqrt(0.05 * 0.95 / runs)
    return not LOWEST - slack <= share <= highest + slack


def _propensities(
    rng: np.random.Generator, precision: float, correlation: float, searches: int
) -> np.ndarray:
    if correlation == 0:
        return np.full(searches, precision)
    concentration = (1 - correlation) / correlation
    return rng.beta(precision * concentration, (1 - precision) * concentration, size=searches)


def _of_mean(values: np.ndarray) -> Interval | None:
    return mean((value, 1) for value in values.tolist())[2]


def _sums(useful: np.ndarray, judged: np.ndarray) -> Sums:
    return Sums(
        clusters=len(judged),
        useful=float(useful.sum()),
        judged=int(judged.sum()),
        useful_sq=float((useful * useful).sum()),
        judged_sq=int((judged * judged).sum()),
        useful_judged=float((useful * judged).sum()),
    )


def _table(
    rng: np.random.Generator, name: str, draws: dict[str, Draw], runs: int, highest_of_few: float
) -> tuple[Table, int]:
    table = Table(name, "of", *(f"{n:,} searches" for n in SEARCHES))
    wrong = 0
    for truth in PRECISIONS:
        for of, draw in draws.items():
            found = [coverage(rng, draw, truth, n, runs) for n in SEARCHES]
            for n, share in zip(SEARCHES, found, strict=True):
                wrong += outside(share, runs, highest_of_few if n <= FEW_SEARCHES else HIGHEST)
            table.add_row(str(truth), of, *(f"{share:.3f}" for share in found))
    return table, wrong


def main(arguments: list[str] | None = None) -> int:
    """Prints the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=2000, help="simulated windows per cell")
    options.add_argument("--seed", type=int, default=None, help="default: from the commit")
    given = options.parse_args(arguments)
    seed = given.seed if given.seed is not None else seed_of_commit()
    rng = np.random.default_rng(seed)
    console = Console(width=140)
    console.print(f"coverage of the 95 % interval, {given.runs:,} windows per cell, seed {seed}")
    wrong = 0
    for name, draws, highest in (("precision", POOLED, HIGHEST), ("mean", MEANS, HIGHEST_OF_FEW)):
        table, found = _table(rng, name, draws, given.runs, highest)
        console.print(table)
        wrong += found
    console.print(f"{wrong} cells outside of {LOWEST:.0%} to {HIGHEST:.0%} by more than chance")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
