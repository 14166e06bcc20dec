"""A vector store that is asked directly, without a retriever: LlamaIndex tells nobody of that.

`query` and `aquery` are wrapped once, on the class that defines them, and look whether the instance is one that is
observed: the object, its class, its fields, its copies and its pickles stay as they are. Below an open search the
call is a part of that search and no row of its own.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from llama_index.core.vector_stores.types import BasePydanticVectorStore

from ragledger.extraction import Reading
from ragledger.forks import ForkLock
from ragledger.model import Returned
from ragledger.observation import NullObservation, Observation, Opening, open_observation
from ragledger.unshown import unshown
from ragledger.weights import UNREADABLE

from . import extract
from .hooks import hooks
from .search import tell_texts
from .weights.vector import read_query

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["observe_store"]

_S = TypeVar("_S")
_MARK = "_ragledger_observes"
_UNREADABLE = Reading(weights=UNREADABLE)
_wrapping = ForkLock()  # no thread that does I/O holds it: an application may make its store for each request


class _Observed(NamedTuple):
    store: weakref.ref[Any]
    ledger: Ledger
    said: Mapping[str, str]


@unshown
class _Item(NamedTuple):
    """A node and its score, as a retriever would give them."""

    node: Any
    score: Any


_observed: dict[int, _Observed] = {}  # by identity: stores are not hashable


def observe_store(store: _S, ledger: Ledger, *, corpus: str | None = None) -> _S:
    """Records every similarity query that is made of this store directly; gives back the same object.

    Args:
        store: a vector store, or a `VectorStoreIndex`, whose store is then observed.
        ledger: where to; a store is observed by one ledger, the latest.
        corpus: what it holds.
    """
    if not hasattr(ledger, "recorder"):
        raise TypeError(f"expected an open ledger (ragledger.open()), got {type(ledger).__name__}")
    target: Any = (
        store if isinstance(store, BasePydanticVectorStore) else getattr(store, "vector_store", None)
    )
    if not isinstance(target, BasePydanticVectorStore):
        raise TypeError(f"expected a vector store or an index over one, got {type(store).__name__}")
    key = id(target)
    if any(True for _ in _bare(type(target))):
        with _wrapping:
            _wrap(type(target))
    reference = weakref.ref(target, lambda _: _observed.pop(key, None))
    _observed[key] = _Observed(reference, ledger, {"corpus": corpus} if corpus is not None else {})
    return store


def _wrap(cls: type) -> None:
    for base, name, original in _bare(cls):
        wrap = _alistening(original) if inspect.iscoroutinefunction(original) else _listening(original)
        setattr(wrap, _MARK, original)
        setattr(base, name, wrap)


def _bare(cls: type) -> Iterator[tuple[type, str, Any]]:
    """Every definition among the bases that is still to be wrapped: which of them runs is the application's to say."""
    for base in cls.__mro__:
        for name in ("query", "aquery"):
            original = vars(base).get(name)
            if inspect.isfunction(original) and not hasattr(original, _MARK):
                yield base, name, original


def _listening(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def query(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (found := _observed.get(id(self))) is None or found.store() is not self:
            return original(self, *args, **kwargs)
        search = _Search(found, self, args, kwargs)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as fault:
            search.fail(fault)
            raise
        search.finish(result)
        return result

    return query


def _alistening(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def aquery(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (found := _observed.get(id(self))) is None or found.store() is not self:
            return await original(self, *args, **kwargs)
        search = _Search(found, self, args, kwargs)
        try:
            result = await original(self, *args, **kwargs)
        except BaseException as fault:
            search.fail(fault)
            raise
        search.finish(result)
        return result

    return aquery


class _Search:
    """One direct query; nothing where a search is open around it."""

    def __init__(
        self, found: _Observed, store: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self._ledger = found.ledger
        self._reading = _UNREADABLE
        self._query: Any = None
        self._observation: Observation | NullObservation | None = None
        around = open_observation()
        if around is not None and around.nearest(found.ledger) is not None:
            return
        with found.ledger.guard("llama_index.weights"):
            rest = {name: value for name, value in kwargs.items() if name != "query"}
            self._query = args[0] if args else kwargs["query"]
            self._reading = read_query(store, self._query, rest)
        self._observation = found.ledger.recorder.open(
            Opening(
                framework="llama_index",
                retriever=type(store).__name__,
                weights=self._reading.weights,
                top_k=self._reading.top_k,
                said=found.said,
            )
        )
        if isinstance(self._observation, Observation):
            with found.ledger.guard("llama_index.legs"):
                hooks().searches.legs.collect(store, self._reading, [self._observation])

    def fail(self, fault: BaseException) -> None:
        """The store raised, or the call was cancelled."""
        if isinstance(observation := self._observation, Observation):
            hooks().searches.legs.forget(observation)
            if observation.ledger.tells_text:
                tell_texts(observation, self._query, ())
            observation.fail(fault)

    def finish(self, result: Any) -> None:
        """The store answered."""
        if not isinstance(observation := self._observation, Observation):
            return
        observation.stop()
        returned: Any = None
        complete = False
        try:
            with self._ledger.guard("llama_index.extract"):
                returned, complete = self._read(observation, result)
        finally:
            if not complete:
                observation.flag("incomplete")
            if observation.vector_available is None and self._reading.dense:
                observation.vector_available = True
            hooks().searches.legs.forget(observation)
            if observation.ledger.tells_text:
                tell_texts(observation, self._query, result)
            observation.finish(returned)

    def _read(self, observation: Observation, result: Any) -> tuple[Any, bool]:
        scores = result.similarities
        if result.nodes is None:
            ids = list(result.ids or ())
            return Returned(
                chunk_ids=ids,
                document_ids=[None] * len(ids),
                scores=list(scores) if scores is not None else None,
                score_kind=self._reading.score_kind if scores is not None else None,
                score_source="result.similarities" if scores is not None else "unavailable",
                signal=self._reading.signal if scores is not None else None,
            ), True
        nodes = list(result.nodes)
        items = [
            _Item(node, score)
            for node, score in zip(nodes, scores if scores is not None else [None] * len(nodes), strict=True)
        ]
        returned, complete = extract.read(items, observation, self._reading)
        if returned is not None:
            hooks().searches.legs.tell(observation, items, returned)
        return returned, complete
