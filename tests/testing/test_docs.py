"""docs/testing.md shows a file that runs, and names every part of the kit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ragledger import testing

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/testing"
PAGE = (ROOT / "docs/testing.md").read_text(encoding="utf-8")


def test_the_example_passes_as_an_application_would_run_it():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            ".",
            "-c",
            "/dev/null",
            ".",
        ],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) == 3


def test_the_page_shows_the_example_as_it_is():
    code = (EXAMPLE / "test_answer.py").read_text(encoding="utf-8")
    assert code.partition("from __future__ import annotations\n")[2].strip() in PAGE
    assert (EXAMPLE / "conftest.py").read_text(encoding="utf-8").splitlines()[-1] in PAGE


def test_the_page_names_every_part():
    assert [name for name in testing.__all__ if name not in PAGE and name != "MemoryNarration"] == []
