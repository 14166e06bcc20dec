"""docs/adapters-llama-index.md names every retriever class that is installed, and what is read of it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import warnings
from pathlib import Path

import llama_index.core
import llama_index.retrievers.bm25
import pytest
from adapters.llama_index.test_effective import EFFECTIVE, _made
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.utils import globals_helper

from ragledger import extraction
from ragledger_llama_index import postprocessors
from ragledger_llama_index.weights import FAMILIES, read

PAGE = Path(__file__).parents[3] / "docs" / "adapters-llama-index.md"
UNKNOWN = {"CustomPGRetriever", "HotpotQARetriever"}
OWN = "llama_index."


def table() -> dict[str, list[str]]:
    """The cells of the first table, by class."""
    section = PAGE.read_text().split("## Retrievers")[1].split("## Stores")[0]
    rows: dict[str, list[str]] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows.update({name: cells for name in re.findall(r"`(\w+)`", cells[0])})
    return rows


def installed() -> set[type]:
    """Every concrete retriever class of the core and of BM25: whatever can be imported, and what derives from it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(llama_index.core.__path__, "llama_index.core."):
            if "_static" not in module.name:
                try:
                    importlib.import_module(module.name)
                except Exception:
                    continue  # needs a package that is not here
    found: set[type] = set()
    todo = [BaseRetriever]
    while todo:
        for derived in todo.pop().__subclasses__():
            todo.append(derived)
            if derived.__module__.startswith(OWN) and not getattr(derived, "__abstractmethods__", None):
                found.add(derived)
    return found


def test_every_installed_class_is_in_the_page_and_registered_or_said_to_be_unknown():
    names = {cls.__name__ for cls in installed()}
    known = {name.rpartition(".")[2] for name in extraction._registered if name.startswith(OWN)}
    abstract = {"CustomPGRetriever"}
    assert names | abstract == set(table())
    assert known == set(table()) - UNKNOWN
    assert len(FAMILIES) == len({family.__name__ for family in FAMILIES})


def test_every_registered_name_is_a_class_that_exists():
    for name in extraction._registered:
        if name.startswith("llama_index."):
            module, _, cls = name.rpartition(".")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert isinstance(getattr(importlib.import_module(module), cls), type), name


def test_the_page_names_every_effective_field(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(globals_helper, "_stopwords", ["of"])
    rows, page = table(), PAGE.read_text()
    for case in EFFECTIVE:
        for retriever in _made(case):
            cells = rows[type(retriever).__name__]
            for field in read(retriever).weights.effective:
                if field in ("members", "member_settings"):
                    assert "members" in cells[1]
                elif field == "mmr_threshold":
                    assert f"`{field}`" in page
                else:
                    assert f"`{field}`" in cells[1], (type(retriever).__name__, field)


def test_the_page_names_the_counter_of_unmatched_nodes_and_the_signals():
    page = PAGE.read_text()
    assert "`llama_index.unmatched_node`" in page
    assert all(name in postprocessors.NUMBERS for name in ("similarity_cutoff", "top_n"))
