"""The `ragledger.*` keys: on a retriever's own `metadata` they say who observes it, in a config they speak for a call.

Plain strings and numbers in fields that LangChain has for exactly this, so that they survive copy, pickle,
`configurable_fields` and `bind`. Other handlers see them: nothing secret goes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config

from ragledger.weights import canonical

__all__ = ["LEDGER", "PREFIX", "SCORES", "WEIGHTS", "is_mark", "marks_for", "said_by", "said_for_call"]

PREFIX = "ragledger."
LEDGER = "ragledger.ledger"
WEIGHTS = "ragledger.weights"
SCORES = "ragledger.scores"

_FIELDS = {
    PREFIX + name: name
    for name in ("surface", "session_id", "actor", "corpus", "index_version", "embedding_model")
}
_SAID = tuple([PREFIX + name for name in ("corpus", "surface", "index_version", "embedding_model")])
_OBSERVED = frozenset({LEDGER, WEIGHTS, SCORES, *_SAID})
_NOTHING: Mapping[str, Any] = {}


def marks_for(
    ledger: str,
    weights: Mapping[str, Any] | None,
    said: tuple[str | None, str | None, str | None, str | None],
    *,
    scores: bool = False,
) -> dict[str, Any]:
    """The keys that an observed thing carries; `said`: corpus, surface, index_version, embedding_model.

    Raises TypeError when the weights cannot be kept.
    """
    keys = {
        LEDGER: ledger,
        WEIGHTS: canonical(weights) if weights is not None else None,
        SCORES: scores or None,
        **dict(zip(_SAID, said, strict=True)),
    }
    return {key: value for key, value in keys.items() if value is not None}


def is_mark(key: str) -> bool:
    """Whether `observe` makes such a key: observing again replaces them all."""
    return key in _OBSERVED


def said_by(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the keys of one metadata say, by the names that `ragledger.context` has."""
    return {_FIELDS[key]: value for key, value in metadata.items() if key in _FIELDS and value is not None}


def said_for_call(config: Any) -> Mapping[str, Any]:
    """What the config of a call says: its own metadata, over what LangChain hands down from the enclosing run.

    LangChain hands metadata down by two ways, a ContextVar and the callback manager in the config (the only one
    that gets through an async task on Python 3.10); an own `metadata` does not hide what is inherited.
    """
    said: Mapping[str, Any] = _NOTHING
    inherited = var_child_runnable_config.get()
    if inherited is not None and (metadata := inherited.get("metadata")):
        said = said_by(metadata)
    if config is None:
        return said
    manager = config.get("callbacks")
    if manager is not None and (metadata := getattr(manager, "inheritable_metadata", None)):
        said = {**said, **said_by(metadata)}
    if metadata := config.get("metadata"):
        said = {**said, **said_by(metadata)}
    return said
