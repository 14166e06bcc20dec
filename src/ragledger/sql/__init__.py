"""SQL lives in .sql files under names; this module is the only way to it.

A named query starts with a line `-- name: insert_search` and ends at the next one.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ragledger.forks import unforked

if TYPE_CHECKING:
    from typing_extensions import LiteralString

__all__ = ["migrations", "named_queries", "script"]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def script(name: str, package: str = __name__) -> LiteralString:
    """The text of `sql/<name>`: ours, shipped in the wheel, so a literal in all but type."""
    return _literal((_folder(package) / name).read_text(encoding="utf-8"))


@cache
def named_queries(name: str, package: str = __name__) -> dict[str, LiteralString]:
    """The queries of `sql/<name>.sql` by name."""
    parts = _NAME.split(script(f"{name}.sql", package))
    return {query: _literal(text.strip()) for query, text in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def migrations() -> tuple[tuple[int, str, LiteralString], ...]:
    """(version, words, text) of every migration, in order."""
    found = []
    for entry in (_folder(__name__) / "migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            text = _literal(entry.read_text(encoding="utf-8"))
            found.append((int(match[1]), match[2].replace("_", " "), text))
    return tuple(sorted(found))


def _folder(package: str) -> Path:
    # Not by `importlib.resources`: it imports more at its first use, in whatever thread that is, and a fork in that
    # moment left the child waiting for ever.
    with unforked:
        return Path(str(import_module(package).__file__)).parent


def _literal(text: str) -> LiteralString:
    # Honest: the text comes from this package's own files, never from input.
    return text
