"""What the members of a fusing retriever answered, as the per-signal scores of the search that fuses them.

Taken when a member's call ends, because fusion rewrites scores in place and loses ranks; handed over when the
fusing search ends. Items are matched by the key that the fusion itself matches by (an id, a content), which is
held only as long as the search is open.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from .model import Candidate, Signal

__all__ = ["Fusion", "member_names", "signal_of", "unscored"]


class _Answer(NamedTuple):
    name: str
    items: dict[Hashable, tuple[Candidate, Signal]]


def member_names(members: Sequence[object]) -> list[str]:
    """A name per member, by its class: `BM25Retriever`, `VectorStoreRetriever`, `VectorStoreRetriever#2`."""
    seen: dict[str, int] = {}
    names = []
    for member in members:
        name = type(member).__name__
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def signal_of(candidate: Candidate, rank: int) -> Signal:
    """An item's place in the answer of a member. Better is larger: a distance is turned."""
    score = candidate.score
    if score is None or candidate.score_kind == "none":
        return Signal(None, rank)
    if candidate.score_kind == "distance":
        score = -score if isinstance(score, numbers.Real) else None
    return Signal(score, rank)


def unscored(candidate: Candidate, **changes: Any) -> Candidate:
    """The item without a score of its own: a member's number is none of the search that fuses."""
    return msgspec.structs.replace(candidate, score=None, score_kind=None, score_source=None, **changes)


class Fusion:
    """The members of one open search and their answers so far.

    A member that is asked several queries has a signal for each: `VectorIndexRetriever` for the first query of the
    search, `VectorIndexRetriever@2` for the second. What comes before the `@` is the member's name, by which its
    weight is found; no query text is in it.

    Args:
        members: the retrievers whose answers are fused, in the order of their weights.
        key: by what the fusion matches items; it is given the live item, and may raise for one it does not know.
    """

    def __init__(self, members: Sequence[object], key: Callable[[Any], Hashable]) -> None:
        self.names = member_names(members)
        self.repeats = False
        """Whether a member gave an item twice, of which only the better rank is kept."""
        self._reach: list[list[object]] = [[member] for member in members]
        """By member, the objects that may answer for it."""
        self._key = key
        self._answers: dict[str, _Answer] = {}
        self._queries: dict[Hashable, int] = {}
        self._asked: dict[tuple[int, Hashable], int] = {}

    def name_of(self, retriever: object) -> str | None:
        """The member's name; None when it is no member, or has answered already as often as it is one."""
        return next((name for name in self._names_of(retriever) if name not in self._answers), None)

    def name_for(self, retriever: object, query: Hashable) -> str | None:
        """The signal of a member for a query, asked when its call begins; None when it is no member.

        Queries are counted as they come. The same one again is the same signal, and its later answer counts.
        """
        own = self._names_of(retriever)
        if not own:
            return None
        place = self._queries.setdefault(query, len(self._queries) + 1)
        before = self._asked.get((id(retriever), query), 0)
        self._asked[id(retriever), query] = before + 1
        name = own[before % len(own)]
        return name if place == 1 else f"{name}@{place}"

    def take(self, name: str, items: Iterable[tuple[Any, Candidate]]) -> None:
        """Keeps a member's answer: its live items in their order, each with what is to be stored of it."""
        kept: dict[Hashable, tuple[Candidate, Signal]] = {}
        for rank, (item, candidate) in enumerate(items, 1):
            said = candidate, signal_of(candidate, rank)
            if kept.setdefault(self._key(item), said) is not said:
                self.repeats = True
        self._answers[name] = _Answer(name, kept)

    def given(self, item: Any) -> set[float]:
        """The numbers that members gave an item."""
        key = self._key(item)
        found = [answer.items[key][0].score for answer in self._answers.values() if key in answer.items]
        return {score for score in found if score is not None}

    def candidates(self, returned: Iterable[tuple[Any, Candidate]]) -> list[Candidate]:
        """Every item that a member gave, with its score and rank there; ids are those of the item that was returned."""
        ids = {self._key(item): candidate for item, candidate in returned}
        answers = sorted(self._answers.values(), key=self._place)
        found: dict[Hashable, tuple[Candidate, dict[str, Signal | float | None]]] = {}
        for answer in answers:
            for key, (candidate, signal) in answer.items.items():
                of_item = found.setdefault(key, (ids.get(key, candidate), {}))
                of_item[1][answer.name] = signal
        known = Counter(candidate.chunk_id for candidate, _ in found.values())
        return [
            unscored(
                candidate,
                # Two items of one id would be one hit: whose the numbers are, nobody could tell.
                signals=signals if candidate.chunk_id is None or known[candidate.chunk_id] == 1 else None,
                admitted=False,
            )
            for candidate, signals in found.values()
        ]

    def _names_of(self, retriever: object) -> list[str]:
        """Of every member that this object may answer for."""
        reach = zip(self.names, self._reach, strict=True)
        return [name for name, objects in reach if any(each is retriever for each in objects)]

    def _place(self, answer: _Answer) -> tuple[int, int]:
        """Query by query, and within a query member by member: the order in which a fusion goes through them."""
        name, _, query = answer.name.partition("@")
        known = self.names.index(name) if name in self.names else len(self.names)
        return int(query or 1), known
