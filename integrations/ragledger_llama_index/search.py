"""The open searches of LlamaIndex: one entry per retriever call, from the span's enter to its exit or drop.

One call may be recorded by several ledgers. An entry without observations stands for a `super()` call inside a
search that is already recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ragledger.attempts import Asked
from ragledger.extraction import UNREAD, Reading
from ragledger.guard import Guard
from ragledger.model import Candidate, Returned
from ragledger.observation import Observation, Opening, open_observation
from ragledger.texts import MOST_TEXTS
from ragledger.unshown import unshown
from ragledger.weights import UNREADABLE

from . import extract, nesting, weights
from .delivery import Prompts
from .legs import Legs
from .marks import Mark, own_marks, said_with_tags
from .nesting import Seat
from .places import places
from .postprocessors import with_postprocessors

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["Search", "Searches"]

_NOTHING_SAID: Mapping[str, Any] = {}
_UNREADABLE = Reading(weights=UNREADABLE)


class _Opening(Opening, frozen=True, kw_only=True):
    """Remembers the call: retriever, query, parent span and tags."""

    call: tuple[Any, Any, str | None, Mapping[str, Any] | None]

    def asked(self) -> Asked | None:
        """For attempts: the retriever, the query and the spans around it."""
        instance, query, parent_span_id, tags = self.call
        text = getattr(query, "query_str", query)
        return Asked(instance, text, places(parent_span_id, tags)) if isinstance(text, str) else None


@unshown
class Search(msgspec.Struct, eq=False):
    """One call of a retriever, as it is being recorded."""

    instance: Any
    query: Any
    parent_span_id: str | None = None
    reading: Reading = UNREAD
    observations: list[Observation] = []
    embedding_failed: bool = False
    dense_answered: bool = False
    seats: list[Seat] = []
    """Of a member of retrievers that fuse."""


class Searches:
    """Opens and closes searches. Every entry is removed when its span exits or drops."""

    def __init__(self) -> None:
        self.guard = Guard()  # for what happens before a ledger is known
        self.fallback: Callable[[], Ledger | None] | None = None
        self.open: dict[str, Search] = {}
        self.prompts = Prompts()
        self.legs = Legs()
        self._of: dict[Observation, Search] = {}
        self._failing: set[Search] = set()

    def enter(
        self,
        span_id: str,
        parent_span_id: str | None,
        instance: Any,
        query: Any,
        tags: Mapping[str, Any] | None,
    ) -> Search | None:
        """Opens the search in every ledger that it belongs to; None when it belongs to none."""
        if parent_span_id is not None:
            above = self.open.get(parent_span_id)
            if above is not None and above.instance is instance and above.query is query:
                # The override called `super()`: the same search.
                self.open[span_id] = Search(instance, query)
                return None
        marks = self._marks(instance)
        if not marks:
            return None
        reading = self._read(instance, parent_span_id, marks[0].ledger)
        search = Search(instance, query, parent_span_id, reading)
        self.open[span_id] = search
        for mark in marks:
            opening = _Opening(
                framework="llama_index",
                retriever=type(instance).__name__,
                weights=search.reading.weights,
                top_k=search.reading.top_k,
                said=said_with_tags(mark.said, tags),
                call=(instance, query, parent_span_id, tags),
            )
            observation = mark.ledger.recorder.open(opening)
            if isinstance(observation, Observation):
                search.observations.append(observation)
                self._of[observation] = search
                if observation.parent is not None or search.reading.members:
                    nesting.begin(search.seats, instance, observation, (search.reading, query))
        if search.reading.dense and search.reading.signal is None:
            self.legs.collect(instance, search.reading, search.observations)
        return search

    def restart(self, span_id: str) -> None:
        """Starts the clock again: what other handlers did since is not the search."""
        search = self.open.get(span_id)
        if search is not None:
            for observation in search.observations:
                observation.start_ticks = observation.ledger.recorder.clock.ticks_ns()

    def stop(self, span_id: str) -> None:
        """Stops the clock: what other handlers do from here on is not the search."""
        search = self.open.get(span_id)
        if search is not None:
            for observation in search.observations:
                observation.stop()

    def exit(self, span_id: str, result: Any) -> None:
        """The call came back."""
        search = self._leave(span_id)
        if search is None:
            return
        if hasattr(result, "__await__"):
            self._abandon(search)
            return
        reading = search.reading
        search.dense_answered = search.dense_answered or bool(reading.dense)
        for observation in search.observations:
            self._say_vector(observation, search)
            returned: list[Candidate] | Returned | None = None
            complete = False
            try:
                returned, complete = extract.read(result, observation, reading)
                if returned is not None:
                    self._tell_signals(search, observation, result, returned)
            except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
                observation.ledger.guard.take("llama_index.extract", fault)
            finally:
                if not complete:
                    observation.flag("incomplete")
                self.legs.forget(observation)
                if observation.ledger.tells_text:
                    tell_texts(observation, search.query, result)
                observation.finish(returned)
            if search.parent_span_id is not None and observation.depth == 0 and returned is not None:
                self.prompts.searched(search.parent_span_id, observation, result, returned)

    def drop(self, span_id: str, fault: BaseException) -> None:
        """The call raised, or was cancelled."""
        search = self._leave(span_id)
        if search is None:
            return
        for observation in search.observations:
            self._say_vector(observation, search)
            self.legs.forget(observation)
            if observation.ledger.tells_text:
                tell_texts(observation, search.query, ())
            observation.fail(fault)

    def embedding_dropped(self) -> None:
        """An embedding of the open search here failed."""
        observation = open_observation()
        search = self._of.get(observation) if observation is not None else None
        if search is not None:
            search.embedding_failed = True
            self._failing.add(search)
        elif observation is not None:  # of the application, or of another framework
            observation.dense = observation.dense or False

    def embedding_exited(self) -> None:
        """An embedding came back: a failure before it was one attempt of several."""
        observation = open_observation()
        if observation is None:
            return
        search = self._of.get(observation)
        if search is None:
            if observation.dense is False:
                observation.dense = None  # that it was searched by is for others to say
            return
        if search.reading.dense is None:
            search.dense_answered = True  # whatever it is that was searched, there was a vector to search by
        if self._failing:
            search.embedding_failed = False
            self._failing.discard(search)

    def _read(self, instance: Any, parent_span_id: str | None, ledger: Ledger) -> Reading:
        try:
            reading = weights.read(instance)
        except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
            ledger.guard.take("llama_index.weights", fault)
            reading = _UNREADABLE
        if self.prompts.open:
            with ledger.guard("llama_index.weights"):
                if applied := self.prompts.postprocessors_of(parent_span_id):
                    return reading._replace(weights=with_postprocessors(reading.weights, applied))
        return reading

    def _tell_signals(
        self, search: Search, observation: Observation, result: Any, returned: list[Candidate] | Returned
    ) -> None:
        if search.seats or observation.fusion is not None:
            nesting.end(search.seats, observation, result, returned)
        if search.reading.dense and search.reading.signal is None:
            self.legs.tell(observation, result, returned)

    def _marks(self, instance: Any) -> list[Mark]:
        try:
            if marks := own_marks(instance):
                return marks
        except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
            self.guard.take("llama_index.manager", fault)
        enclosing = open_observation()
        if enclosing is not None:
            search = self._of.get(enclosing)
            around = search.observations if search is not None else [enclosing]
            return [Mark(observation.ledger, _NOTHING_SAID) for observation in around]
        ledger = self.fallback() if self.fallback is not None else None
        return [Mark(ledger, _NOTHING_SAID)] if ledger is not None else []

    def _leave(self, span_id: str) -> Search | None:
        """Takes the search off the books and makes the spans around it current again, innermost first."""
        search = self.open.pop(span_id, None)
        if search is None or not search.observations:
            return None
        if self._failing:
            self._failing.discard(search)
        for observation in reversed(search.observations):
            self._of.pop(observation, None)
            observation.stop()
            observation.leave()
        return search

    def _say_vector(self, observation: Observation, search: Search) -> None:
        """Fills in what the application did not say."""
        if observation.vector_available is None:
            if search.dense_answered:
                observation.vector_available = True
            elif search.embedding_failed:
                observation.dense = observation.dense or False  # a member may have answered

    def _abandon(self, search: Search) -> None:
        """A plain function gave back a coroutine: the search has not begun. Its own span records it when it runs."""
        for observation in search.observations:
            self.legs.forget(observation)
            observation.abandon()
            observation.ledger.guard.count("llama_index.unawaited")


def tell_texts(observation: Observation, query: Any, result: Any) -> None:
    """The texts of the search, where an application wants them; asked only then."""
    with observation.ledger.guard("llama_index.text"):
        asked = getattr(query, "query_str", query)
        found = getattr(result, "nodes", result)  # of a store that is asked directly
        items = found if isinstance(found, (list, tuple)) else ()
        nodes: list[Any] = [getattr(item, "node", item) for item in items]
        observation.tell(
            query=asked if isinstance(asked, str) else None,
            chunks=[_text_of(node, observation) for node in nodes[:MOST_TEXTS]],
        )


def _text_of(node: Any, observation: Observation) -> str | None:
    text = None  # a node whose text cannot be had costs the others nothing
    with observation.ledger.guard("llama_index.text"):
        text = node.get_content()
    return text if isinstance(text, str) else None
