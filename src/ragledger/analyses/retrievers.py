"""Finds a retriever by `module:attribute` and reads what it returns, whatever framework it is of; imports none of them.

with `invoke`       a LangChain retriever; its documents by metadata key or `id`
with `retrieve`     a LlamaIndex retriever; its nodes by metadata key or `node_id`
callable            gives ids, or (id, score) pairs, or documents or nodes, best first
"""

from __future__ import annotations

import importlib
import numbers
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from ragledger.errors import UnusableJudgments
from ragledger.measures.golden_set import Unit

__all__ = ["IdReader", "Retrieve", "retriever_named", "retrieving"]

Retrieve = Callable[[str], Any]


def retriever_named(reference: str, place: Path) -> object:
    """What `module:attribute` names, `place` being searched first; with `()` at its end, what that gives.

    Raises:
        UnusableJudgments: no such module or attribute, or it could not be imported or made.
    """
    module_name, colon, attribute = reference.partition(":")
    if not (module_name and colon and attribute):
        raise UnusableJudgments(
            f"a retriever is named `module:attribute`, such as `app.search:retriever`, not {reference!r}"
        )
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
    called = attribute.endswith("()")
    try:
        found: Any = importlib.import_module(module_name)
        for name in attribute.removesuffix("()").split("."):
            found = getattr(found, name)
        return found() if called else found
    except ModuleNotFoundError as exc:
        raise UnusableJudgments(f"{reference}: there is no module {exc.name}") from None
    except (Exception, SystemExit) as exc:  # noqa: BLE001  a module of the application's may raise anything
        raise UnusableJudgments(f"{reference} cannot be had ({type(exc).__name__})") from None


def retrieving(retriever: object) -> Retrieve:
    """How to ask it.

    Raises:
        UnusableJudgments: it has neither `invoke` nor `retrieve` and cannot be called.
    """
    for name in ("invoke", "retrieve"):
        method = getattr(retriever, name, None)
        if callable(method) and not isinstance(retriever, type):
            return method  # type: ignore[no-any-return]
    if callable(retriever):
        return retriever
    raise UnusableJudgments(
        f"a {type(retriever).__name__} is no retriever: no invoke, no retrieve, not callable"
    )


class IdReader(NamedTuple):
    """Reads ids as the adapters do, of the unit that the golden set judges. `kept`: how the set knows an id."""

    unit: Unit
    chunk_id_key: str | None = None
    document_id_keys: Sequence[str] = ()
    kept: Callable[[str], str | None] = str

    def read(self, result: Iterable[Any]) -> list[str | None]:
        """The ids in order, each once, at its best rank; None for an item that has none."""
        found: list[str | None] = []
        seen: set[str] = set()
        for item in result:
            given = self._id(item)
            each = self.kept(given) if given is not None else None
            if each is None or each not in seen:
                found.append(each)
            if each is not None:
                seen.add(each)
        return found

    def _id(self, item: Any) -> str | None:
        if (plain := _text(item)) is not None:
            return plain
        if isinstance(item, (tuple, list)):
            return self._id(item[0]) if item else None
        if isinstance(item, Mapping):
            return _text(item.get(f"{self.unit}_id")) or _text(item.get("id"))
        item = getattr(item, "node", item)
        metadata = getattr(item, "metadata", None)
        metadata = metadata if isinstance(metadata, Mapping) else {}
        if self.unit == "document":
            named = (_text(metadata.get(key)) for key in self.document_id_keys)
            return _text(getattr(item, "ref_doc_id", None)) or next((each for each in named if each), None)
        if self.chunk_id_key and (own := _text(metadata.get(self.chunk_id_key))):
            return own
        return _text(getattr(item, "node_id", None)) or _text(getattr(item, "id", None))


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if isinstance(value, (numbers.Integral, UUID)) and not isinstance(value, bool):
        return str(value)
    return None
