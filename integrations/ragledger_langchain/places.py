"""Below what a retriever was asked, so that a retry or a fallback is told from another search.

Looked at only when a search fails, and for as long as a failure is remembered.

`with_retry` and `with_fallbacks` call the retriever below one run: its id is the parent of both attempts. A LangGraph
`RetryPolicy` runs the whole node again, below a new run. What stays is the task (`langgraph_checkpoint_ns` in the
metadata), and what changes is its `node_attempt`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.runnables.config import var_child_runnable_config

from ragledger.attempts import Place

__all__ = ["asked_again", "places"]

_TASK = "langgraph_checkpoint_ns"
_RUNTIME = "__pregel_runtime"
_BRANCH = "map:key:"
_AGAIN = "retry:attempt:"


def places(config: Any) -> tuple[Place, ...]:
    """The run, and the task of a graph, that the call is made in."""
    found: list[Place] = []
    manager = _manager(config)
    run_id = getattr(manager, "parent_run_id", None)
    # The branches of a RunnableParallel are asked the same thing without being attempts of one another.
    if run_id is not None and not _tagged(manager, _BRANCH):
        found.append(Place(run_id))
    for metadata in _metadata(config, manager):
        if (task := metadata.get(_TASK)) is not None:
            found.append(Place((_TASK, task), _node_attempt(config)))
            break
    return tuple(found)


def asked_again(config: Any) -> bool:
    """Whether `with_retry` says so: a configurable retriever is a new object for each attempt."""
    return _tagged(_manager(config), _AGAIN)


def _configs(config: Any) -> Iterator[Mapping[str, Any]]:
    """The call's own, then the one that LangChain hands down."""
    for each in (config, var_child_runnable_config.get()):
        if each is not None:
            yield each


def _manager(config: Any) -> Any:
    return next((found for each in _configs(config) if (found := each.get("callbacks")) is not None), None)


def _metadata(config: Any, manager: Any) -> Iterator[Mapping[str, Any]]:
    yield getattr(manager, "inheritable_metadata", None) or {}
    for each in _configs(config):
        yield each.get("metadata") or {}


def _tagged(manager: Any, start: str) -> bool:
    return any(isinstance(tag, str) and tag.startswith(start) for tag in getattr(manager, "tags", None) or ())


def _node_attempt(config: Any) -> Any:
    """Which run of the task it is; None where this LangGraph does not say."""
    for each in _configs(config):
        runtime = (each.get("configurable") or {}).get(_RUNTIME)
        if runtime is not None:
            return getattr(getattr(runtime, "execution_info", None), "node_attempt", None)
    return None
