"""Which ledgers a search belongs to, and what was said about it.

Order: the handlers in the retriever's own callback manager, then the enclosing open search, then the instrumentor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.settings import Settings

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["HANDLER_MARKER", "Mark", "own_marks", "said_with_tags"]

HANDLER_MARKER = "_ragledger_handler"
"""A class attribute rather than `isinstance`: a reloaded module has another class of the same name."""

_NAMES = ("surface", "session_id", "actor", "corpus", "index_version", "embedding_model")
_TAGS = tuple((f"ragledger.{name}", name) for name in _NAMES)


class Mark(NamedTuple):
    """A ledger, and what its handler says about every search below it."""

    ledger: Ledger
    said: Mapping[str, Any]


def own_marks(retriever: Any) -> list[Mark]:
    """The distinct ledgers of the handlers in the retriever's own callback manager, in their order."""
    manager = getattr(retriever, "callback_manager", None)
    if manager is None:
        # Without `super().__init__()` a retriever gets this one, but only after the span has been entered. Not the
        # public property: it would make a manager where the application has none.
        manager = getattr(Settings, "_callback_manager", None)
    marks: list[Mark] = []
    for handler in getattr(manager, "handlers", ()):
        if getattr(type(handler), HANDLER_MARKER, False) is not True:
            continue
        mark = handler.mark()
        if mark is not None and not (marks and any(mark.ledger is known.ledger for known in marks)):
            marks.append(mark)
    return marks


def said_with_tags(said: Mapping[str, Any], tags: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What is said of this call: `instrument_tags` with `ragledger.*` keys win over the handler."""
    if not tags:
        return said
    given = {name: tags[key] for key, name in _TAGS if tags.get(key) is not None}
    return {**said, **given} if given else said
