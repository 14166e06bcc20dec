"""The two lists behind a hybrid answer of LlamaIndex's PGVectorStore, which it puts one after the other.

A chunk that both lists hold keeps the dense score alone, and nothing says where the second list begins. So the methods
that fetch the lists are wrapped, on the class, once a search in hybrid mode meets such a store; the wrap looks at what
they return and passes it on. It is taken off again with the hooks.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ragledger.model import Candidate, Returned
from ragledger.observation import Observation, open_observation

if TYPE_CHECKING:
    from ragledger.extraction import Reading

__all__ = ["Legs"]

_STORE = "llama_index.vector_stores.postgres.base.PGVectorStore"
_METHODS: dict[str, Literal["vector", "lexical"]] = {
    "_query_with_score": "vector",
    "_aquery_with_score": "vector",
    "_sparse_query_with_rank": "lexical",
    "_async_sparse_query_with_rank": "lexical",
}
_MARK = "_ragledger_wraps"

_Lists = dict[str, dict[str, Any]]


class Legs:
    """The lists of the open searches that want them, by search."""

    def __init__(self) -> None:
        self._of: dict[Observation, _Lists] = {}
        self._wrapped: list[tuple[type, str, Any]] = []
        self._lock = threading.RLock()  # re-entrant: a signal handler may search

    def collect(self, asked: Any, reading: Reading, observations: Sequence[Observation]) -> None:
        """Has the lists kept until the search ends, where a hybrid one of such a store, or of a retriever over it."""
        if reading.weights.effective.get("mode") != "hybrid":
            return
        for base in type(getattr(asked, "_vector_store", asked)).__mro__:
            if f"{base.__module__}.{base.__qualname__}" == _STORE:
                self._wrap(base)
                lists: _Lists = {}
                self._of.update((observation, lists) for observation in observations)

    def tell(self, observation: Observation, result: Sequence[Any], read: list[Candidate] | Returned) -> None:
        """Hands over, for each item, its score in either list; nothing when the application has said it itself."""
        lists = self._of.get(observation)
        if not lists or observation.answered:
            return
        dense, sparse = lists.get("vector", {}), lists.get("lexical", {})
        items = read.candidates() if isinstance(read, Returned) else read
        observation.candidates(
            *(
                Candidate(item.chunk_id, vector=dense.get(own), lexical=sparse.get(own))
                for item, own in zip(items, (node.node.node_id for node in result), strict=True)
            )
        )

    def forget(self, observation: Observation) -> None:
        """The search has ended."""
        if self._of:
            self._of.pop(observation, None)

    def release(self) -> None:
        """Takes the wraps off, but for those that somebody has wrapped again: they pass through."""
        with self._lock:
            for cls, name, original in self._wrapped:
                if getattr(vars(cls).get(name), _MARK, None) is original:
                    setattr(cls, name, original)
            self._wrapped.clear()

    def _wrap(self, cls: type) -> None:
        if self._wrapped:
            return
        with self._lock:
            for name, signal in _METHODS.items():
                original = vars(cls).get(name)
                if original is not None and not hasattr(original, _MARK):
                    setattr(cls, name, self._listening(original, signal))
                    self._wrapped.append((cls, name, original))

    def _listening(self, original: Callable[..., Any], signal: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def listen(*args: Any, **kwargs: Any) -> Any:
            rows = original(*args, **kwargs)
            self._hear(signal, rows)
            return rows

        @functools.wraps(original)
        async def alisten(*args: Any, **kwargs: Any) -> Any:
            rows = await original(*args, **kwargs)
            self._hear(signal, rows)
            return rows

        wrap = alisten if inspect.iscoroutinefunction(original) else listen
        setattr(wrap, _MARK, original)
        return wrap

    def _hear(self, signal: str, rows: Any) -> None:
        observation = open_observation() if self._of else None
        # Of a store below a retriever that another ledger observes, both searches hear of it.
        while observation is not None and (lists := self._of.get(observation)) is not None:
            with observation.ledger.guard("llama_index.legs"):
                lists[signal] = {row.node_id: row.similarity for row in rows}
            observation = observation.outer
