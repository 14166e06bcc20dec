"""Marking one retriever, so that its searches go to a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.retrievers import BaseRetriever

from ragledger.drift import disabled
from ragledger.errors import ConfigError
from ragledger.registry import ledger_named

from . import wrap
from .installed import distinct
from .marks import is_mark, marks_for

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["check_named", "observe"]

_R = TypeVar("_R", bound=BaseRetriever)


def observe(  # noqa: PLR0913  each keyword is a column of the row
    retriever: _R,
    ledger: Ledger,
    *,
    corpus: str | None = None,
    surface: str | None = None,
    index_version: str | None = None,
    embedding_model: str | None = None,
    weights: Mapping[str, Any] | None = None,
    scores: bool = False,
) -> _R:
    """Has every search of the retriever recorded in the ledger, and gives back the same retriever.

    The marks are keys in the retriever's own `metadata`, so copies and pickles of it are observed as well (a new
    process needs a ledger of that name, and `ragledger_langchain.install()`). Observing again replaces the marks.

    Args:
        weights: what shapes the ranking, where it cannot be read from the retriever; wins over what can.
        scores: of a retriever of a vector store: keeps the scores that the store finds and the retriever drops, and
            what fell below its threshold. Where a store's search does not go through its scored one, there are none.

    Raises:
        TypeError: it is not a retriever, or has no vector store and is asked for scores, or the weights hold something
            other than numbers, short text and lists.
        ConfigError: the ledger is closed, or another one of its name hides it.
    """
    _check_retriever(retriever)
    if scores and getattr(retriever, "vectorstore", None) is None:
        raise TypeError(f"a {type(retriever).__name__} has no vector store whose scores could be kept")
    check_named(ledger)
    said = corpus, surface, index_version, embedding_model
    marks = marks_for(ledger.name, weights, said, scores=scores)
    try:
        _mark(retriever, marks)
        wrap.wrap_for_marks(type(retriever))
    except Exception as fault:  # noqa: BLE001  LangChain has changed: the retriever works as without us
        disabled("LangChain", fault, ledger)
    return retriever


def _mark(retriever: BaseRetriever, marks: dict[str, Any]) -> None:
    kept = {key: value for key, value in (retriever.metadata or {}).items() if not is_mark(key)}
    # Around pydantic: a frozen model takes a mark too, and a dict that is shared with another retriever stays as is.
    retriever.__dict__["metadata"] = kept | marks
    retriever.__pydantic_fields_set__.add("metadata")


def _check_retriever(retriever: object) -> None:
    if not isinstance(retriever, BaseRetriever):
        kind = retriever.__qualname__ if isinstance(retriever, type) else type(retriever).__name__
        raise TypeError(
            f"cannot observe a {kind}: observe the retriever before .bind()/.with_retry(), "
            "that is observe(retriever, ledger).bind(...)"
        )


def check_named(ledger: Ledger) -> None:
    """A mark holds the ledger's name, nothing else: the name has to lead back to it."""
    named = ledger_named(ledger.name)
    if named is None or len(distinct((named, ledger))) > 1:
        why = (
            "is closed"
            if named is None
            else "is hidden by another open one of that name: give each its name="
        )
        raise ConfigError(f"ledger {ledger.name!r} {why}")
