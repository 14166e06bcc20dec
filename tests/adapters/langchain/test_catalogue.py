"""Every retriever class that LangChain's packages ship is read, or is known to have nothing that can be; the page says which."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from ragledger import extraction
from ragledger_langchain.weights import compression, read
from ragledger_langchain.weights.services import SERVICES
from ragledger_langchain.weights.settings import name_of

pytest.importorskip("langchain_community", reason="needs langchain-community")

PAGE = (Path(__file__).parents[3] / "docs/adapters-langchain.md").read_text(encoding="utf-8")
BASES = {"langchain_core.indexing.base.DocumentIndex"}  # abstract
WALK = """
import importlib, json, pkgutil, warnings
warnings.simplefilter("ignore")
import langchain_classic.retrievers, langchain_community.retrievers, langchain_community.vectorstores
import langchain_core.indexing.in_memory, langchain_postgres
from langchain_core.retrievers import BaseRetriever
for package in (
    langchain_classic.retrievers, langchain_community.retrievers, langchain_community.vectorstores, langchain_postgres
):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except Exception:
            pass
found, waiting = {}, [BaseRetriever]
while waiting:
    for cls in waiting.pop().__subclasses__():
        if cls.__module__.startswith("langchain"):
            found[f"{cls.__module__}.{cls.__qualname__}"] = [f"{b.__module__}.{b.__qualname__}" for b in cls.__mro__]
        waiting.append(cls)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def shipped() -> dict[str, list[str]]:
    """Every class with those that it is derived from."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WALK], capture_output=True, text=True, timeout=110, check=True
    )
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 50
    return found


def test_every_shipped_class_is_read_or_known_to_say_nothing(shipped: dict[str, list[str]]) -> None:
    known = {*extraction._registered, *(f"langchain_community.{name}" for name in SERVICES), *BASES}
    assert [name for name, bases in shipped.items() if known.isdisjoint(bases)] == []


def test_the_page_has_a_row_for_every_class(shipped: dict[str, list[str]]) -> None:
    rows = set(re.findall(r"`(\w+)`", "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))))
    names = {name.rpartition(".")[2] for name in shipped if name not in BASES}
    assert sorted(names - rows) == []


def test_the_page_names_every_setting_of_a_service() -> None:
    lines = {
        found[1]: line for line in PAGE.splitlines() if (found := re.match(r"\| `(\w+)`", line)) is not None
    }
    for name, fields in SERVICES.items():
        line = lines[name.rpartition(".")[2]]
        assert [field for field in fields if f"`{field}`" not in line] == [], name


def test_the_page_names_every_setting_of_a_compressor() -> None:
    lines = {
        found[1]: line for line in PAGE.splitlines() if (found := re.match(r"\| `(\w+)`", line)) is not None
    }
    for name, known in compression.COMPRESSORS.items():
        line = lines[name.rpartition(".")[2]]
        assert [field for field in (*known.shown, *known.fields) if f"`{field}`" not in line] == [], name


def test_the_page_shows_the_example_as_it_is() -> None:
    example = (Path(__file__).parents[3] / "examples/extractor.py").read_text(encoding="utf-8")
    shown = example[example.index("@extractor(") : example.index("\n\n\nledger =")]
    assert shown in PAGE
    assert len(shown.splitlines()) < 20


def _class(name: str) -> Any:
    module, _, cls = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(importlib.import_module(module), cls)
        except ImportError as exc:
            pytest.skip(f"{name} needs more: {exc}")


@pytest.mark.parametrize("name", [name for name, fields in SERVICES.items() if fields])
def test_of_a_service_only_listed_fields_are_read_and_none_is_said_to_take_effect(name: str) -> None:
    cls = _class(f"langchain_community.{name}")
    listed = set(SERVICES[name])
    assert listed <= set(cls.model_fields)
    values: dict[str, Any] = {field: "SECRET" for field in cls.model_fields if field not in listed}
    values["search_kwargs"] = {"filter": "SECRET"}
    retriever = cls.model_construct(**values, **dict.fromkeys(listed, 3))
    weights = read(retriever).weights
    assert weights.configured == dict.fromkeys(listed, 3)
    assert (weights.effective, weights.source, weights.unknown) == ({}, "unknown", ("effective",))
    assert "SECRET" not in repr(weights)


@pytest.mark.parametrize("name", sorted(compression.COMPRESSORS))
def test_a_listed_compressor_has_the_listed_fields(name: str) -> None:
    cls = _class(name)
    known = compression.COMPRESSORS[name]
    assert name_of(cls) == name
    assert {*known.shown} <= set(cls.model_fields)
    assert not known.fields or set(known.fields) & set(cls.model_fields)
