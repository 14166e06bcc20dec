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


# Only names what a guarded import of the same file has loaded by then, so that nothing is loaded: why it came first.
EXCEPTIONS = {
    ("integrations/ragledger_langchain/instrumentor.py", "_from_environment"): "`_instrument` alone calls it, after its own",
    ("integrations/ragledger_langchain/instrumentor.py", "_uninstrument"): "BaseInstrumentor calls it after `_instrument` alone",
    ("src/ragledger/direct.py", "_land"): "it gets a store, which `_open` has made",
    ("src/ragledger/shipper.py", "ship"): "`_open` is the line before it",
    ("src/ragledger/shipper.py", "tell"): "`_open` is the line before it",
    ("src/ragledger/shipper.py", "_empty"): "it gets a store, which `_open` has made",
    ("src/ragledger/shipper.py", "_entries"): "`_land` alone calls it, with a store that `_open` has made",
}  # fmt: skip


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_an_import_in_a_function_is_made_while_nobody_forks(path: Path) -> None:
    late = list(_late(tree_of(path)))
    guarded = {name for _, name, is_guarded in late if is_guarded}
    bare = {(function, name) for function, name, is_guarded in late if not is_guarded}
    excepted = {function for file, function in EXCEPTIONS if file == _file(path)}
    assert {(function, name) for function, name in bare if function not in excepted} == set()
    assert {name for _, name in bare} <= guarded
    assert excepted == {function for function, _ in bare}, "an exception that nothing needs"


def test_the_exceptions_are_of_files_that_are_there() -> None:
    assert {file for file, _ in EXCEPTIONS} <= {_file(path) for path in LIBRARY}


def test_the_rule_sees_imports() -> None:
    code = "def f():\n with unforked:\n  from a import b\n import c\n if TYPE_CHECKING:\n  import d"
    assert list(_late(ast.parse(code))) == [("f", "a", True), ("f", "c", False), ("f", "d", False)]
    assert any(is_guarded for path in LIBRARY for _, _, is_guarded in _late(tree_of(path)))


def _file(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _late(tree: ast.Module) -> Iterator[tuple[str, str, bool]]:
    """Which function imports what, and whether it does so under the lock."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for name, is_guarded in _imports(function, is_guarded=False):
                yield function.name, name, is_guarded


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
