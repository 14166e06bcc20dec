"""The one patch of LangChain: `invoke` and `ainvoke`, on `BaseRetriever` and on every class that overrides them.

Callbacks cannot fill a row: they carry no instance, no keyword arguments, no scores, and nothing at all when a
search is cancelled. A call goes through several of these wrappers when an override calls `super()`; which of them
records is decided in `recording.begin`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from langchain_core.retrievers import BaseRetriever

from ragledger.drift import disabled
from ragledger.extraction import load_entry_points
from ragledger.forks import ForkLock

from . import listening, recording
from .installed import MARK, Mark, State, distinct, known_state, mark_of

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["install", "uninstall", "unwatch", "watch", "watched_by", "wrap_for_marks"]

_wrapping = (
    ForkLock()
)  # no thread that does I/O holds it: an application may make its retriever for each request


def install(cls: type[BaseRetriever] | None = None) -> None:
    """Makes marked retrievers record in this process, once: a worker that unpickles them calls it, others need not.

    Args:
        cls: a class whose methods may have been replaced since; they are wrapped again.
    """
    try:
        wrap_for_marks(cls)
    except Exception as fault:  # noqa: BLE001  LangChain has changed: retrievers work as without us
        disabled("LangChain", fault)


def wrap_for_marks(cls: type[BaseRetriever] | None = None) -> None:
    """`install`, raising what LangChain makes it raise."""
    bases = (
        [base for base in reversed(cls.__mro__) if issubclass(base, BaseRetriever)] if cls is not None else []
    )
    state = known_state()
    if state.observing and _is_installed() and not any(True for base in bases for _ in _bare(base, state)):
        return  # as nearly always: nobody is waited for
    _load_offered()
    with _wrapping:
        state = _state()
        state.observing = True
        for base in bases:
            _wrap_own(base, state)


def watch(ledger: Ledger) -> None:
    """Has every retriever of this process recorded in the ledger."""
    _load_offered()
    with _wrapping:
        state = _state()
        state.everywhere = distinct((*state.everywhere, ledger))


def unwatch(ledger: Ledger) -> None:
    """Ends `watch`; the classes are put back as they were unless a retriever has been observed by itself."""
    with _wrapping:
        state = known_state()
        state.everywhere = tuple([known for known in state.everywhere if known is not ledger])
        if not state.everywhere and not state.observing:
            uninstall()


def watched_by() -> tuple[Ledger, ...]:
    """The ledgers that get every retriever's searches."""
    return known_state().everywhere


def uninstall() -> None:
    """Puts the classes back as they were. A wrapper that another library has wrapped stays, and passes through."""
    with _wrapping:
        listening.unlisten()
        for cls in _classes(BaseRetriever):
            for name in (*_METHODS, "__init_subclass__"):
                mark = _own_mark(cls, name)
                if mark is None:
                    continue
                mark.state.observing = False
                if mark.original is None:
                    delattr(cls, name)
                else:
                    setattr(cls, name, mark.original)


def _state() -> State:
    """What is installed, installing it first where nothing is."""
    state = known_state()
    if not _is_installed():
        _wrap_init_subclass(state)
        for cls in _classes(BaseRetriever):
            _wrap_own(cls, state)
    return state


def _load_offered() -> None:
    """Before the lock is taken: the first time it imports, which waits for the imports of other threads."""
    with known_state().guard("extractors"):
        load_entry_points()


def _is_installed() -> bool:
    return _own_mark(BaseRetriever, "__init_subclass__") is not None


def _classes(base: type) -> Iterator[type]:
    seen = set()
    waiting = [base]
    while waiting:
        cls = waiting.pop()
        if cls not in seen:
            seen.add(cls)
            waiting.extend(cls.__subclasses__())
            yield cls


def _own_mark(cls: type, name: str) -> Mark | None:
    entry = cls.__dict__.get(name)
    mark: Mark | None = getattr(getattr(entry, "__func__", entry), MARK, None)
    return mark if mark is not None and mark.owner is cls and mark.wrapper is entry else None


def _wrap_own(cls: type, state: State) -> None:
    for name, entry in _bare(cls, state):
        # None: from a mixin that is no retriever. What it does without super() counts too.
        original = entry if entry is not None else _inherited(cls, name, getattr(cls, name))
        _put(cls, name, entry, _METHODS[name](original, state), state)


def _bare(cls: type, state: State) -> Iterator[tuple[str, Any]]:
    """The methods that are still to be wrapped, each with what stands in the class itself."""
    for name in _METHODS:
        entry = cls.__dict__.get(name)
        if entry is None:
            if mark_of(getattr(cls, name)) is None:
                yield name, None
        elif callable(entry) and not isinstance(entry, staticmethod):
            mark = mark_of(entry)
            if mark is None or mark.owner is not cls or mark.state is not state:
                yield name, entry


def _put(cls: type, name: str, original: Any, wrapper: Any, state: State) -> None:
    wrapper.__ragledger_mark__ = Mark(wrapper, original, cls, state)
    setattr(cls, name, wrapper)


def _inherited(cls: type, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """A method that does what it would have done by inheritance, whatever classes are derived later."""

    @functools.wraps(found)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(cls, self), name)(*args, **kwargs)

    return method


def _wrap_init_subclass(state: State) -> None:
    base: Any = BaseRetriever
    original: classmethod[Any, Any, None] | None = vars(base).get("__init_subclass__")

    def init_subclass(cls: type[Any], /, **kwargs: Any) -> None:
        if original is not None:
            original.__func__(cls, **kwargs)
        else:
            super(BaseRetriever, cls).__init_subclass__(**kwargs)
        with state.guard("langchain.wrap"):
            _wrap_own(cls, state)

    if original is not None:
        functools.update_wrapper(init_subclass, original.__func__)
    wrapper: Any = classmethod(init_subclass)
    init_subclass.__dict__[MARK] = Mark(wrapper, original, BaseRetriever, state)
    base.__init_subclass__ = wrapper


def _wrapped(original: Callable[..., Any], state: State) -> Any:
    @functools.wraps(original)
    def invoke(self: BaseRetriever, *args: Any, **kwargs: Any) -> Any:
        search = recording.begin(state, invoke, "invoke", self, args, kwargs)
        if search is None:
            return original(self, *args, **kwargs)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as exc:
            search.fail(exc)
            raise
        else:
            search.finish(result)
            return result
        finally:
            if not search.ended:
                search.abandon()

    return invoke


def _awrapped(original: Callable[..., Any], state: State) -> Any:
    @functools.wraps(original)
    async def ainvoke(self: BaseRetriever, *args: Any, **kwargs: Any) -> Any:
        search = recording.begin(state, ainvoke, "ainvoke", self, args, kwargs)
        if search is None:
            return await original(self, *args, **kwargs)
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as exc:
            search.fail(exc)
            raise
        else:
            search.finish(result)
            return result
        finally:
            if not search.ended:
                search.abandon()

    return ainvoke


_METHODS = {"invoke": _wrapped, "ainvoke": _awrapped}
