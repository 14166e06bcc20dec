"""The registry of extractors, and what other packages offer by an entry point."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

PROGRAM = """
import sys
sys.path.insert(0, {path!r})
import third_party
from ragledger.extraction import load_entry_points, read
load_entry_points()
load_entry_points()
assert "third_party_ragledger" not in sys.modules  # loaded when a retriever of its class is met
reading = read(third_party.Hybrid())
print(dict(reading.weights.effective), reading.top_k)
try:
    read(third_party.Broken())
except ImportError:
    print("counted by the guard")
print(read(third_party.Broken()).weights.source)
"""
OFFERED = """
from ragledger import Reading, Weights

def weights(retriever, call):
    said = {"alpha": retriever.alpha}
    return Reading(Weights(configured=said, effective=said, source="extracted", ranking=frozenset(said)), top_k=5)
"""
ENTRY_POINTS = """
[ragledger_extractors]
third_party.Hybrid = third_party_ragledger:weights
third_party.Broken = not_there:weights
"""


def test_a_package_offers_an_extractor_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "third_party.py").write_text("class Hybrid:\n    alpha = 0.3\n\nclass Broken:\n    pass\n")
    (tmp_path / "third_party_ragledger.py").write_text(OFFERED)
    about = tmp_path / "third_party-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    done = run(
        [sys.executable, "-c", PROGRAM.format(path=str(tmp_path))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["{'alpha': 0.3} 5", "counted by the guard", "unknown"], done.stderr
    assert "an extractor cannot be loaded (ModuleNotFoundError)" in done.stderr
