"""An import inside of a function runs in whatever thread comes by: where an application forks, `unforked` goes round it.

A child that is forked while another thread imports a module waits for ever when it imports that module too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rules.source import ROOT, name_of, python_files, tree_of

# Commands, pages and analyses: nobody forks beside them.
_OF_COMMANDS = {
    f"src/ragledger/{name}"
    for name in (
        "analyses",
        "cli",
        "demo",
        "embedded/keeper.py",
        "health.py",
        "http",
        "measures",
        "panels",
        "report",
        "testing",
    )
}
LIBRARY = [
    path
    for path in python_files("src", "integrations")
    if not any((ROOT / part) in (path, *path.parents) for part in _OF_COMMANDS)
]


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_an_import_in_a_function_is_made_while_nobody_forks(path: Path) -> None:
    late = list(_late(tree_of(path)))
    guarded = {name for name, is_guarded in late if is_guarded}
    assert {name for name, is_guarded in late if not is_guarded} <= guarded


def test_the_rule_sees_imports() -> None:
    code = "def f():\n with unforked:\n  from a import b\n import c\n if TYPE_CHECKING:\n  import d"
    assert list(_late(ast.parse(code))) == [("a", True), ("c", False), ("d", False)]
    assert any(is_guarded for path in LIBRARY for _, is_guarded in _late(tree_of(path)))


def _late(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """What functions import, and whether they do it under the lock."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _imports(function, is_guarded=False)


def _imports(node: ast.AST, *, is_guarded: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            module = "." * child.level + (child.module or "")
            names = [alias.name for alias in child.names] if child.module in (None, "postgres") else [None]
            for name in names:
                yield (module if name is None else f"{module.rstrip('.')}.{name}"), is_guarded
        elif isinstance(child, ast.Import):
            for alias in child.names:
                yield alias.name, is_guarded
        elif not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            holds = isinstance(child, ast.With) and any(
                ast.unparse(item.context_expr) == "unforked" for item in child.items
            )
            yield from _imports(child, is_guarded=is_guarded or holds)
