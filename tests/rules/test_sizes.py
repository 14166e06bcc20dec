"""STYLE R20: a file fits in the head, a function on a screen. A file near the limit is split by noun."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from rules.source import PARTS, name_of, python_files, tree_of

LONGEST_FILE = 400
LONGEST_FUNCTION = 40
EVERYWHERE = python_files(*PARTS, "tests", "examples", "benchmarks")


@pytest.mark.parametrize("path", EVERYWHERE, ids=name_of)
def test_no_file_has_more_than_400_lines(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("path", python_files(*PARTS), ids=name_of)
def test_no_function_has_more_than_40_lines(path: Path):
    lengths = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(tree_of(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_the_rule_sees_the_source():
    assert {"src/ragledger/recorder.py", "tests/rules/test_sizes.py"} <= {
        name_of(path) for path in EVERYWHERE
    }
