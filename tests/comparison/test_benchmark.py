"""The simulation of comparisons runs and prints its tables; what a few runs come to proves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/comparison.py"


def test_voters_who_differ_seldom_tell_apart_what_is_alike() -> None:
    rows = simulated("--seeds", "60", "--seed", "1", "--only", "voters")
    assert [row[3].strip() for row in rows] == ["5", "10", "20", "40"] * 4
    by_chance, told = ([float(row[column]) for row in rows] for column in (4, 5))
    assert sum(by_chance) / len(rows) > 0.08  # what p alone would call a difference
    assert sum(told) / len(rows) < 0.05


def test_the_simulation_prints_power_beside_what_was_planned() -> None:
    rows = simulated("--seeds", "3", "--seed", "1", "--only", "power")
    assert [row[1].strip() for row in rows] == ["0.6", "0.6", "0.3", "0.3", "0.9", "0.9"]
    assert all(0 <= float(row[6]) <= 1 for row in rows)


def simulated(*arguments: str) -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
