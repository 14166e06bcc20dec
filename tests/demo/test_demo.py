"""The demo as a user runs it: the last thing that it makes is the report, and it is not made in the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fix_pg import Database

pytestmark = [pytest.mark.pg, pytest.mark.processes, pytest.mark.timeout(400)]


def test_the_demo_collects_measures_and_says_where_the_report_is(database: Database, tmp_path: Path) -> None:
    if not database.rows("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("no pgvector on this server")
    where = tmp_path / "here"
    where.mkdir()
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "from ragledger.cli import main; main()",
            "demo",
            "--dsn",
            database.dsn,
            "--questions",
            "12",
        ],
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "COLUMNS": "300"},
        cwd=where,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    report = tmp_path / "data" / "ragledger" / "demo-report.html"
    assert f"The report, to be opened in a browser: {report}" in ran.stdout
    assert "1 minutes" in ran.stdout or "2 minutes" in ran.stdout
    assert "ragledger-demo" in report.read_text(encoding="utf-8")
    assert list(where.iterdir()) == []
