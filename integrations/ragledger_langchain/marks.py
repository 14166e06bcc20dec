"""The `ragledger.*` keys: on a retriever's own `metadata` they say who observes it, in a config they speak for a call.

Plain strings and numbers in fields that LangChain has for exactly this, so that they survive copy, pickle,
`configurable_fields` and `bind`. Other handlers see them: nothing secret goes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config

__all__ = ["LEDGER", "PREFIX", "WEIGHTS", "said_by", "said_for_call"]

PREFIX = "ragledger."
LEDGER = "ragledger.ledger"
WEIGHTS = "ragledger.weights"

_FIELDS = {
    PREFIX + name: name
    for name in ("surface", "session_id", "actor", "corpus", "index_version", "embedding_model")
}
_NOTHING: Mapping[str, Any] = {}


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
