"""The benchmark of the queries generates its rollups and prints its table. What it measures here proves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dashboards.py"
TINY = [
    "--searches",
    "2000",
    "--projects",
    "2",
    "--epochs",
    "2",
    "--documents",
    "40",
    "--days",
    "3",
    "--repeat",
    "1",
]

pytestmark = [pytest.mark.pg, pytest.mark.processes]


def test_it_times_every_query_for_every_range(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    command = [sys.executable, str(SCRIPT), *TINY, "--only", "overview", "--json", str(answer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    found = json.loads(answer.read_text(encoding="utf-8"))
    assert {"overview.latency", "overview.shares"} <= set(found)
    expected = {
        f"{scope} {span}"
        for scope in ("one", "filtered", "all", "all filtered")
        for span in ("24 h", "7 d", "90 d")
    }
    assert all(set(cells) == expected for cells in found.values())
    assert all(taken > 0 for cells in found.values() for taken in cells.values())
    assert "overview.latency" in done.stdout
    assert list(tmp_path.iterdir()) == [answer]
