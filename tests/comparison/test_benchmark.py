"""The simulation of comparisons runs and prints its tables; what a few runs come to proves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/comparison.py"


def test_voters_who_differ_seldom_tell_apart_what_is_alike() -> None:
    rows = simulated("--seeds", "60", "--seed", "1", "--only", "voters")
    assert [row[4].strip() for row in rows] == ["5", "10", "20", "40"] * 12
    others = [row for row in rows if row[2].strip() == "others"]
    by_chance, told, held = ([float(row[column]) for row in others] for column in (5, 6, 7))
    assert sum(by_chance) / len(others) > 0.06  # what p alone would call a difference
    assert sum(told) / len(others) < 0.05
    assert sum(held) / len(others) > 0.93


def test_several_k_together_find_little_where_nothing_changed() -> None:
    rows = simulated("--seeds", "10", "--seed", "1", "--only", "family")
    named = {(row[1].strip(), row[2].strip(), row[3].strip()): row[4:] for row in rows if row[3].strip()}
    for over in ("searches", "questions"):
        same, better = named[over, "the same", "150"], named[over, "better", "150"]
        assert float(same[0]) <= 0.3
        assert better[0].strip() == "none"
        assert float(better[3]) > float(same[3])
        assert (float(better[6]), float(named[over, "worse", "150"][5])) == (0, 0)


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
