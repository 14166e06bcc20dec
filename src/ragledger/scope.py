"""What the code around a search says about it: surface, session, actor, and who collects receipts.

One ContextVar carries it, so it follows tasks, `to_thread` and the frameworks' own executors. A raw thread starts
without it; `propagate` carries it there.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import msgspec

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["NOTHING_SAID", "Scope", "context", "entered", "propagate", "scope", "suppress"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Scope(msgspec.Struct, frozen=True):
    """Values for the searches below. None means: not said."""

    surface: Any = None
    session_id: Any = None
    actor: Any = None
    corpus: Any = None
    index_version: Any = None
    embedding_model: Any = None
    suppressed: bool = False
    capture: Capture | None = None


NOTHING_SAID = Scope()
_scope: contextvars.ContextVar[Scope] = contextvars.ContextVar("ragledger.scope", default=NOTHING_SAID)

scope = _scope.get
"""The scope in force here."""


@contextlib.contextmanager
def context(
    *,
    surface: str | None = None,
    session_id: str | None = None,
    actor: str | None = None,
    corpus: str | None = None,
    index_version: str | None = None,
    embedding_model: str | None = None,
) -> Iterator[None]:
    """Says, for every search below, where it happens, for whom and on what.

    Args:
        actor: a kind and an optional name, such as `human:ana`, `agent:planner` or `judge`.
    """
    given = {
        "surface": surface,
        "session_id": session_id,
        "actor": actor,
        "corpus": corpus,
        "index_version": index_version,
        "embedding_model": embedding_model,
    }
    with entered({name: value for name, value in given.items() if value is not None}):
        yield


@contextlib.contextmanager
def suppress() -> Iterator[None]:
    """Records nothing below: no row, no span."""
    with entered({"suppressed": True}):
        yield


@contextlib.contextmanager
def entered(changes: dict[str, Any]) -> Iterator[None]:
    """The scope with `changes`, until the block ends."""
    token = _scope.set(msgspec.structs.replace(_scope.get(), **changes))
    try:
        yield
    finally:
        with contextlib.suppress(
            ValueError
        ):  # a generator closed from another task, which never had our scope
            _scope.reset(token)


def propagate(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Carries the scope and the open search into a raw thread: `Thread(target=ragledger.propagate(work))`."""
    snapshot = contextvars.copy_context()

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        # A copy per call: one context cannot be entered twice at the same time.
        return snapshot.copy().run(function, *args, **kwargs)

    return run
