"""The simulation of comparisons runs and prints its tables; what a few runs come to proves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/comparison.py"


def test_the_simulation_prints_power_beside_what_was_planned() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--seeds", "3", "--seed", "1", "--only", "power"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[1].strip() for row in rows] == ["0.6", "0.6", "0.3", "0.3", "0.9", "0.9"]
    assert all(0 <= float(row[6]) <= 1 for row in rows)
