"""The product's own source, as files and syntax trees."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = ("src", "integrations", "collector")


@cache
def python_files(*parts: str) -> tuple[Path, ...]:
    """Every Python file below the given folders of the project."""
    return tuple(sorted(path for part in parts for path in (ROOT / part).rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def texts(node: ast.AST) -> list[str]:
    """Every text literal below a node, the parts of f-strings included."""
    return [
        found.value
        for found in ast.walk(node)
        if isinstance(found, ast.Constant) and isinstance(found.value, str)
    ]
