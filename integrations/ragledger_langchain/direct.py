"""Vector stores that an application calls by itself: every search of an observed store becomes a row.

The methods are wrapped on the store's class, once; which of its instances are observed, a mark on the instance
tells, so the object is the same and copies and pickles of it are observed as well. A search that calls another
method of the same store is one search, and so is that of an observed retriever on top.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.vectorstores import VectorStore

from ragledger.drift import disabled
from ragledger.extraction import Call, Reading
from ragledger.registry import ledger_named
from ragledger.scope import scope
from ragledger.weights import UNREADABLE

from . import listening
from .installed import distinct, known_state
from .marks import LEDGER, marks_for, said_for_call
from .observe import check_named
from .recording import Search, open_search, search_around, warn_once, with_stated
from .weights import vector_store
from .wrap import wrap_for_marks

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["observe_store"]

_S = TypeVar("_S", bound=VectorStore)

MARKS = "_ragledger_marks"
_SIMILARITY, _THRESHOLD, _MMR = "similarity", "similarity_score_threshold", "mmr"
_SEARCH_TYPES = {
    "similarity_search": _SIMILARITY,
    "similarity_search_with_score": _SIMILARITY,
    "similarity_search_with_relevance_scores": _THRESHOLD,
    "similarity_search_by_vector": _SIMILARITY,
    "similarity_search_with_score_by_vector": _SIMILARITY,
    "max_marginal_relevance_search": _MMR,
    "max_marginal_relevance_search_by_vector": _MMR,
    "max_marginal_relevance_search_with_score_by_vector": _MMR,
}
_METHODS = {**_SEARCH_TYPES, **{f"a{name}": kind for name, kind in _SEARCH_TYPES.items()}}


def observe_store(  # noqa: PLR0913  each keyword is a column of the row
    store: _S,
    ledger: Ledger,
    *,
    corpus: str | None = None,
    surface: str | None = None,
    index_version: str | None = None,
    embedding_model: str | None = None,
    weights: Mapping[str, Any] | None = None,
) -> _S:
    """Has every search of the vector store recorded in the ledger, and gives back the same store.

    Meant are `similarity_search`, `max_marginal_relevance_search` and their relatives, also by vector, with scores
    and async. A process that unpickles such a store observes it again.

    Args:
        weights: what shapes the ranking, where it cannot be read from the store; wins over what can.

    Raises:
        TypeError: it is not a vector store, or takes no mark, or the weights hold something other than numbers,
            short text and lists.
        ConfigError: the ledger is closed, or another one of its name hides it.
    """
    if not isinstance(store, VectorStore):
        raise TypeError(f"cannot observe a {type(store).__name__}: it is no LangChain VectorStore")
    check_named(ledger)
    said = corpus, surface, index_version, embedding_model
    _mark(store, marks_for(ledger.name, weights, said))
    try:
        wrap_for_marks()  # so that nobody who ends their own watching takes these wrappers away
        _wrap(type(store))
        for each in listening.Heard(store).stores:
            listening.listen(type(each))
    except Exception as fault:  # noqa: BLE001  LangChain has changed: the store works as without us
        disabled("LangChain", fault, ledger)
    return store


def _mark(store: VectorStore, marks: dict[str, Any]) -> None:
    try:
        # Around pydantic and a `__setattr__` of the class.
        object.__setattr__(store, MARKS, marks)
    except AttributeError as exc:
        raise TypeError(f"cannot observe a {type(store).__name__}: it takes no attribute") from exc


def _wrap(cls: type) -> None:
    for name in _METHODS:
        found = getattr(cls, name, None)
        if found is not None and not _records(vars(cls).get(name)):
            listening.put(cls, name, _recording)


def _records(function: Any) -> bool:
    return getattr(function, _RECORDS, False) is True


_RECORDS = "__ragledger_records__"


def _recording(name: str, original: Any) -> Any:
    wrapped = _awaited if name.startswith("a") else _called  # a decorator may hide what is a coroutine
    wrapper = wrapped(name, original)
    setattr(wrapper, _RECORDS, True)
    return wrapper


def _called(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        search = _begin(name, original, self, args, kwargs)
        if search is None:
            result = original(self, *args, **kwargs)
            listening.hear(self, name, result)
            return result
        try:
            result = original(self, *args, **kwargs)
        except BaseException as exc:
            search.fail(exc)
            raise
        else:
            listening.hear(self, name, result)
            search.finish(_documents(search, result))
            return result
        finally:
            if not search.ended:
                search.abandon()

    return method


def _awaited(name: str, original: Any) -> Any:
    @functools.wraps(original)
    async def amethod(self: Any, *args: Any, **kwargs: Any) -> Any:
        search = _begin(name, original, self, args, kwargs)
        if search is None:
            result = await original(self, *args, **kwargs)
            listening.hear(self, name, result)
            return result
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as exc:
            search.fail(exc)
            raise
        else:
            listening.hear(self, name, result)
            search.finish(_documents(search, result))
            return result
        finally:
            if not search.ended:
                search.abandon()

    return amethod


def _begin(
    name: str, original: Any, store: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Search | None:
    """Opens the search of this call; None when nobody observes it, or when it is part of one that is open."""
    try:
        marks = vars(store).get(MARKS)
        if marks is None or scope().suppressed:
            return None
        ledger = ledger_named(marks[LEDGER])
        if ledger is None:
            warn_once(marks[LEDGER])
            return None
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        known_state().guard.take("langchain.begin", fault)
        return None
    with ledger.guard("langchain.begin"):
        around = search_around()
        if around is not None and around.is_in(ledger) and _is_part(around, store):
            return None
        call = Call({}, name.startswith("a"))
        asked, given = _given(original, store, args, kwargs)
        reading = _read(ledger, marks, store, name, given, call)
        search = open_search(distinct((ledger,)), store, asked, reading, marks, said_for_call(None))
        search.heard = listening.Heard(store)
        return search
    return None


def _is_part(around: Search, store: Any) -> bool:
    """Whether the open search is this store's, or its own retriever's: that one hears the scores, then."""
    if around.retriever is store:
        return True
    if not any(base.__name__ == "VectorStoreRetriever" for base in type(around.retriever).__mro__):
        return False
    if getattr(around.retriever, "vectorstore", None) is not store:
        return False
    if around.heard is None:
        around.heard = listening.Heard(store)
    return True


def _given(
    original: Any, store: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """What is asked, and the other arguments of the call by name, those that `**kwargs` takes included."""
    found: dict[str, Any] = {}
    try:
        signature = _signature(original)
        bound = signature.bind(store, *args, **kwargs).arguments
    except (TypeError, ValueError):  # the call itself will say so
        found.update(zip(("query", "k"), args, strict=False), **kwargs)
    else:
        for name, value in list(bound.items())[1:]:
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                found.update(value)
            elif kind is not inspect.Parameter.VAR_POSITIONAL:
                found[name] = value
            else:
                found.update(zip(("query", "k"), value, strict=False))
    asked = next((name for name in ("query", "embedding") if name in found), next(iter(found), None))
    return (found.pop(asked) if asked is not None else None), found


_signatures: weakref.WeakKeyDictionary[Any, inspect.Signature] = weakref.WeakKeyDictionary()


def _signature(function: Any) -> inspect.Signature:
    """Of a method, read once: it costs more than all the rest of a row."""
    known = _signatures.get(function)
    if known is None:
        known = _signatures[function] = inspect.signature(function)
    return known


def _read(
    ledger: Ledger, marks: Mapping[str, Any], store: Any, name: str, given: Mapping[str, Any], call: Call
) -> Reading:
    """The weights in force, declared ones first, also where the others cannot be read."""
    reading = Reading(UNREADABLE)
    with ledger.guard("langchain.weights"):
        reading = vector_store.direct(store, name, _METHODS[name], given, call)
    return with_stated(ledger, reading, marks)


def _documents(search: Search, result: Any) -> Any:
    """The documents alone, where they come with their scores; None, which is unreadable, where that cannot be seen."""
    try:
        if not isinstance(result, (list, tuple)):
            return result
        items = list(result)
        if items and all(type(item) is tuple for item in items):
            return [item[0] for item in items]
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        for observation in search.observations:
            observation.ledger.guard.take("langchain.extract", fault)
        return None
    return result
