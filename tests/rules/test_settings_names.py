"""Every RAGLEDGER_* name in the source is a known setting, and every known setting is used."""

from __future__ import annotations

import ast
import re

from rules.source import PARTS, ROOT, python_files, texts, tree_of

from ragledger.settings import ENVIRONMENT

SETTINGS = ROOT / "src/ragledger/settings.py"
NAME = re.compile(r"RAGLEDGER_[A-Z0-9_]*[A-Z0-9]")


def _used() -> set[str]:
    found: set[str] = set()
    for path in (*python_files(*PARTS, "examples", "benchmarks"), ROOT / "tests/fix_pg.py"):
        if path != SETTINGS:
            found.update(name for text in texts(tree_of(path)) for name in NAME.findall(text))
    for node in tree_of(SETTINGS).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "ENVIRONMENT":
            continue
        found.update(name for text in texts(node) for name in NAME.findall(text))
    return found


def test_the_names_in_use_are_exactly_the_known_ones():
    assert _used() == set(ENVIRONMENT)


def test_every_name_in_the_docs_is_a_known_one():
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("compose.y*ml"),
        ROOT / "Makefile",
    ]
    named = {
        name for page in pages if page.exists() for name in NAME.findall(page.read_text(encoding="utf-8"))
    }
    assert named <= set(ENVIRONMENT)


def test_every_name_has_a_meaning():
    assert [name for name, meaning in ENVIRONMENT.items() if len(meaning) < 10] == []
