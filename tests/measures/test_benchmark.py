"""The simulation of intervals runs and prints its tables; what a few runs come to proves little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks/intervals.py"


def test_the_simulation_prints_the_coverage_of_precision_and_of_means() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--runs", "20", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[1].strip() for row in rows].count("0.97") == 2 + 5
    assert all(0.6 < float(cell) <= 1 for row in rows for cell in row[3:-1])
