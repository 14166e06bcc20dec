"""The programs in the documentation run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_assessments_of_the_page_are_what_it_prints() -> None:
    [program] = re.findall(r"```python\n(.*?)```", (DOCS / "assessments.md").read_text("utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:-1] == [
        "score_quality 0.75",
        "citation_coverage 0.50",
        "semantic_coverage 1.00",
        "lexical_coverage 0.40",
        "confidence 0.68",
    ], done.stderr
