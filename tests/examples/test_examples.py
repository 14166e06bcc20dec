"""Every example runs, and the README shows them as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.processes
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_and_its_searches_are_in_the_table(
    path: Path, database: Any, tmp_path: Path
) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAGLEDGER_")}
    environ |= {"RAGLEDGER_DSN": database.dsn, "RAGLEDGER_JOURNAL_DIR": str(tmp_path / "j")}
    done = subprocess.run(
        [sys.executable, str(path)], env=environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.search(r"search ([0-9a-f-]{36})", done.stdout)
    assert said is not None
    assert database.value("SELECT count(*) FROM searches WHERE search_id = %s", said[1]) == 1
    assert database.value("SELECT count(*) FROM hits WHERE search_id = %s AND admitted", said[1]) >= 1


def test_the_readme_shows_the_examples_as_they_are() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("langchain_app", "llama_index_app", "own_retrieval"):
        code = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        body = code.partition("from __future__ import annotations\n")[2].strip()
        assert body in readme, f"README.md does not show examples/{name}.py as it is"
