"""The benchmarks of calibration run on a small scale. What they measure here proves nothing."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CRANFIELD = {
    "cran.all.1400": ".I 1\n.T\nwings\n.A\nx\n.B\ny\n.W\nwings\n  in a stream .\n.I 2\n.T\nflow\n.A\nx\n.B\ny\n.W\n",
    "cran.qry": ".I 004\n.W\nwhat wings\nmake .\n.I 009\n.W\nwhich flow .\n",
    "cranqrel": "1 2 -1\n1 1 2 \n2 2 4\n",
}


@pytest.fixture(autouse=True)
def _beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_the_simulation_prints_its_table() -> None:
    # By its path: `calibration` is the name of these tests.
    path = str(BENCHMARKS / "calibration.py")
    lines = list(runpy.run_path(path, run_name="benchmark")["lines"](2, 500))
    assert lines[0].startswith("500 votes, 2 seeds, best weight 0.5")
    assert [line.split()[0] for line in lines[2:6]] == ["0.2", "0.6", "0.9", "0.5"]
    assert lines[-1].startswith("changes with nothing to gain: ")


def test_cranfield_is_read_as_it_is_written(tmp_path: Path) -> None:
    for name, text in CRANFIELD.items():
        (tmp_path / name).write_text(text, "utf-8")
    found = module("cranfield_world").load(tmp_path)
    assert [(one.chunk_id, one.text) for one in found.documents] == [
        ("d1", "wings in a stream ."),
        ("d2", "flow"),
    ]
    assert found.questions == ["what wings make .", "which flow ."]
    assert found.grades == {(0, "d2"): -1, (0, "d1"): 2, (1, "d2"): 4}


@pytest.mark.parametrize(("legs", "ends"), [("complete", " 0       0"), ("missing", " 2       2")])
def test_votes_on_scores_become_a_line_of_the_table(legs: str, ends: str) -> None:
    cranfield, chance = module("cranfield"), np.random.default_rng(3)
    useful = chance.random((60, 80)) < 0.2
    vector, lexical = (0.1 * useful + chance.random(useful.shape) for _ in range(2))
    scores = module("cranfield_world").Scores(
        vector, lexical, np.full(useful.shape, 5), [f"d{n}" for n in range(80)]
    )
    of = cranfield.Experiment(scores, useful, "relevant")
    lines = list(cranfield.table(of, 2, 800, legs))
    assert lines[0].startswith(f"signals {legs}, about 800 votes, 2 seeds")
    assert len(lines) == 2 + 4
    assert all(line.endswith(ends) for line in lines[2:]), lines
