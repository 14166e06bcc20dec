"""Whoever meets a line of ours in a log finds it in docs/operations.md, with what to do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNBOOK = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition("## Log lines")[2]
LEVELS = {"warning", "error", "critical", "exception"}


def _lines() -> set[str]:
    """The fixed beginning of every line that is logged, as far as the first thing that is filled in."""
    found = set()
    for top in ("src", "integrations"):
        for path in (ROOT / top).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in LEVELS
                    and isinstance(node.func.value, ast.Name)
                    and node.func.value.id == "_logger"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    found.add(str(node.args[0].value))
    return found


def test_lines_are_found() -> None:
    assert len(_lines()) > 10


@pytest.mark.parametrize("line", sorted(_lines()))
def test_a_log_line_is_in_the_runbook(line: str) -> None:
    words = line.removeprefix("ragledger: ")
    pieces = [piece.strip(" ();:.") for piece in re.split(r"%[sd]|[,;]", words)]
    assert line.startswith("ragledger: ")
    assert any(len(piece) > len("fault in") - 1 and piece in RUNBOOK for piece in pieces)
