"""How often the 95 % interval of a precision holds the true one: simulated searches with correlated votes.

    python benchmarks/intervals.py --runs 4000

True precision x correlation inside a search x searches with 1 to 5 votes each. Exit 1 when a cell lies outside of 93 to
98 % by more than chance explains (four standard errors). The seed is printed; CI takes it from the commit.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from ragledger.measures.interval import Sums, clustered

PRECISIONS = (0.3, 0.6, 0.9, 0.97)
CORRELATIONS = (0.0, 0.3)
SEARCHES = (10, 20, 50, 100, 300, 1000)
LOWEST, HIGHEST = 0.93, 0.98
STANDARD_ERRORS = 4.0


def coverage(
    rng: np.random.Generator, precision: float, correlation: float, searches: int, runs: int
) -> float:
    """The share of `runs` in which the interval holds `precision`."""
    held = 0
    for _ in range(runs):
        judged = rng.integers(1, 6, size=searches)
        useful = rng.binomial(judged, _propensities(rng, precision, correlation, searches))
        found = clustered(_sums(useful, judged))
        held += found is not None and found.low <= precision <= found.high
    return held / runs


def seed_of_commit() -> int:
    """From the commit that is checked out, so that no seed can be chosen; 0 where there is none."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return int(done.stdout.strip()[:8] or "0", 16)


def outside(share: float, runs: int) -> bool:
    """Whether a coverage lies outside of the bounds by more than chance explains."""
    slack = STANDARD_ERRORS * math.sqrt(0.05 * 0.95 / runs)
    return not LOWEST - slack <= share <= HIGHEST + slack


def _propensities(
    rng: np.random.Generator, precision: float, correlation: float, searches: int
) -> np.ndarray:
    if correlation == 0:
        return np.full(searches, precision)
    concentration = (1 - correlation) / correlation
    return rng.beta(precision * concentration, (1 - precision) * concentration, size=searches)


def _sums(useful: np.ndarray, judged: np.ndarray) -> Sums:
    return Sums(
        clusters=len(judged),
        useful=float(useful.sum()),
        judged=int(judged.sum()),
        useful_sq=float((useful * useful).sum()),
        judged_sq=int((judged * judged).sum()),
        useful_judged=float((useful * judged).sum()),
    )


def main() -> int:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--runs", type=int, default=2000, help="simulated windows per cell")
    options.add_argument("--seed", type=int, default=None, help="default: from the commit")
    given = options.parse_args()
    seed = given.seed if given.seed is not None else seed_of_commit()
    rng = np.random.default_rng(seed)
    table = Table("precision", "correlation", *(f"{n:,} searches" for n in SEARCHES))
    wrong = 0
    for precision in PRECISIONS:
        for correlation in CORRELATIONS:
            found = [coverage(rng, precision, correlation, n, given.runs) for n in SEARCHES]
            wrong += sum(outside(share, given.runs) for share in found)
            table.add_row(str(precision), str(correlation), *(f"{share:.3f}" for share in found))
    console = Console()
    console.print(f"coverage of the 95 % interval, {given.runs:,} windows per cell, seed {seed}")
    console.print(table)
    console.print(f"{wrong} cells outside of {LOWEST:.0%} to {HIGHEST:.0%} by more than chance")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
