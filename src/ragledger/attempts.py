"""Which search repeats one that failed: retries and fallbacks are attempts of one group.

A search is a further attempt when a sibling of it (the same parent, the same input) ended in error before. Of a failure
we keep ids, a keyed digest of its input and a weak reference to its retriever, never a text; bounded by count and by
age. As long as nothing fails, a search pays one look at an empty dict.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import UUID

from .bounded import forget_oldest
from .digests import blake2b
from .unshown import unshown

if TYPE_CHECKING:
    from .clock import Clock
    from .guard import Guard
    from .observation import Observation

__all__ = ["Asked", "Attempts", "Place"]

_Key: TypeAlias = "tuple[Hashable, UUID | None, bytes]"

_AGE_NS = 600 * 10**9
_LIMIT = 512
_key = os.urandom(16)


class Place(NamedTuple):
    """What siblings have in common: the run that they are below.

    `turn` is for a place that outlives a failure of everything in it, such as a task that a graph runs again: which
    run of it this is. Searches of one turn are not attempts of one another there.
    """

    parent: Hashable
    turn: Hashable = None


@unshown
class Asked(NamedTuple):
    """Who was asked what, and below what. `again`: the framework says itself that it asks the same one again."""

    retriever: Any
    text: str
    places: tuple[Place, ...] = ()
    again: bool = False


class _Failure(NamedTuple):
    first: UUID
    retriever: weakref.ref[Any] | None
    turn: Hashable
    at_ns: int


class Attempts:
    """The failures of one recorder that a later search may repeat. No lock: every step is one under the GIL."""

    def __init__(self, guard: Guard, clock: Clock) -> None:
        self.recent: dict[_Key, _Failure] = {}
        self._section = guard("attempts")
        self._clock = clock
        self._latest_ns = 0

    def join(self, observation: Observation) -> None:
        """Makes the search that opens an attempt of the group that it belongs to, if there is one."""
        with self._section:
            asked = observation.opening.asked()
            now = self._clock.ticks_ns()
            if now - self._latest_ns > _AGE_NS:
                self.recent.clear()
            if asked is None or observation.attempt_of is not None:
                return
            for place, key in _keys(observation, asked):
                failure = self.recent.get(key)
                if failure is None or now - failure.at_ns > _AGE_NS:
                    continue
                same = _is(failure.retriever, asked.retriever)
                if place.parent is None and not same and _fuses(observation.parent):
                    continue  # the members of one fusion are no attempts of one another
                if place.turn is not None and place.turn == failure.turn:
                    continue
                observation.attempt_of = failure.first
                same = same or asked.again
                observation.attempt_reason = "retry" if same else "fallback"
                return

    def failed(self, observation: Observation) -> None:
        """Remembers the search for those that repeat it."""
        with self._section:
            asked = observation.opening.asked()
            if asked is None:
                return
            first = observation.attempt_of or observation.search_id
            retriever = _weakly(asked.retriever)
            self._latest_ns = now = self._clock.ticks_ns()
            for place, key in _keys(observation, asked):
                self.recent.pop(key, None)  # to the end: the oldest are forgotten first
                self.recent[key] = _Failure(first, retriever, place.turn, now)
            if len(self.recent) > _LIMIT:
                forget_oldest(self.recent)

    def answered(self, observation: Observation) -> None:
        """The group has its answer: a degraded one, and whoever asks the same again begins anew."""
        with self._section:
            if observation.degraded_reason is None:
                observation.degraded_reason = observation.attempt_reason or "retry"
            for key, failure in list(self.recent.items()):
                if failure.first == observation.attempt_of:
                    self.recent.pop(key, None)


def _keys(observation: Observation, asked: Asked) -> Iterator[tuple[Place, _Key]]:
    """Where its siblings are found: below the same run and the same search, if there is one, and asked the same."""
    digest = blake2b(asked.text.encode("utf-8", "surrogatepass"), digest_size=16, key=_key).digest()
    above = observation.parent.search_id if observation.parent is not None else None
    for place in asked.places:
        yield place, (place.parent, above, digest)
    if above is not None:
        yield Place(None), (None, above, digest)


def _fuses(parent: Observation | None) -> bool:
    return parent is not None and parent.fusion is not None


def _weakly(retriever: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(retriever)
    except TypeError:  # a class with slots
        return None


def _is(known: weakref.ref[Any] | None, retriever: Any) -> bool:
    return known is not None and known() is retriever
