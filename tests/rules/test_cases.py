"""Each of the 51 cases that were drawn from public bug reports is a test that carries its number (`..._d07_...`)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from rules.source import tree_of

TESTS = Path(__file__).parents[1]
_NUMBER = re.compile(r"(?:^|_)d(\d\d)(?=_|$)")


def numbers(tree: ast.AST) -> set[int]:
    """The cases that the names of the tests in a module carry."""
    names = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    ]
    return {int(number) for name in names for number in _NUMBER.findall(name)}


def test_every_case_has_a_test() -> None:
    found: set[int] = set()
    for path in TESTS.rglob("test_*.py"):
        found |= numbers(tree_of(path))
    found |= numbers(tree_of(TESTS.parent / "src/ragledger/testing/conformance.py"))
    assert sorted(set(range(1, 52)) - found) == []
    assert sorted(found - set(range(1, 52))) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_d07_p10_two_rows", {7}),
        ("test_p3_d20_d21_nothing", {20, 21}),
        ("test_end05_of", set()),
        ("a_d07_helper", set()),
    ],
)
def test_a_number_is_read_from_the_name_of_a_test(name: str, expected: set[int]) -> None:
    assert numbers(ast.parse(f"def {name}(): ...")) == expected
