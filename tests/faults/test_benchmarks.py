"""The benchmarks of the recording path run and print their tables. What they measure here proves nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = [pytest.mark.pg, pytest.mark.faults, pytest.mark.timeout(400)]


def run(script: str, *arguments: str, timeout_s: float = 380.0) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def figures(lines: list[str], name: str) -> list[float]:
    """The numbers of the row that starts with `name`."""
    [row] = [line for line in lines if line.startswith(name)]
    return [float(cell.replace(",", "")) for cell in row[len(name) :].split()]


def test_drain_prints_what_a_search_pays_in_every_variant(server_dsn: str) -> None:
    lines = run("drain.py", "--quick", "--dsn", server_dsn)
    for name in ("idle", "database down", "beside a busy thread"):
        assert figures(lines, name)[0] == 100
    for name in ("backlog drains, thread", "backlog drains, sidecar"):
        calls, p50, p99 = figures(lines, name)
        assert 0 < calls <= 100
        assert p50 != p99


def test_memory_prints_what_is_added_and_whether_it_grows(server_dsn: str) -> None:
    lines = run("memory.py", "--quick", "--dsn", server_dsn)
    [(bare, _), (thread, added), (sidecar, _)] = (
        figures(lines, name) for name in ("without", "shipper in the process", "sidecar")
    )
    assert added == pytest.approx(thread - bare, abs=0.11)
    assert thread > sidecar > 0, "the driver is in one of them only"
    searches, *_, journal, refused = figures(lines, "outage")
    assert searches == 20_000
    assert 0 < journal <= 8
    assert 0 < refused < searches, "up to the cap, and not beyond"
    assert figures(lines, "database up")[-1] == 0


@pytest.mark.parametrize("script", ["drain.py", "memory.py"])
def test_a_benchmark_explains_itself(script: str) -> None:
    assert any("--quick" in line for line in run(script, "--help"))
