"""What the members of a fusing retriever answered, as the per-signal scores of the search that fuses them.

Taken when a member's call ends, because fusion rewrites scores in place and loses ranks; handed over when the
fusing search ends. Items are matched by the key that the fusion itself matches by (an id, a content), which is
held only as long as the search is open.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from .model import Candidate, Signal

__all__ = ["Fusion", "member_names"]


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


class Fusion:
    """The members of one open search and their answers so far.

    Args:
        members: the retrievers whose answers are fused, in the order of their weights.
        key: by what the fusion matches items; it is given the live item, and may raise for one it does not know.
    """

    def __init__(self, members: Sequence[object], key: Callable[[Any], Hashable]) -> None:
        self.names = member_names(members)
        self._members = list(members)
        self._key = key
        self._answers: dict[str, _Answer] = {}

    def name_of(self, retriever: object) -> str | None:
        """The member's name; None when it is no member, or has answered already as often as it is one."""
        for member, name in zip(self._members, self.names, strict=True):
            if member is retriever and name not in self._answers:
                return name
        return None

    def take(self, name: str, items: Iterable[tuple[Any, Candidate]]) -> None:
        """Keeps a member's answer: its live items in their order, each with what is to be stored of it."""
        kept: dict[Hashable, tuple[Candidate, Signal]] = {}
        for rank, (item, candidate) in enumerate(items, 1):
            kept.setdefault(self._key(item), (candidate, Signal(candidate.score, rank)))
        self._answers[name] = _Answer(name, kept)

    def candidates(self, returned: Iterable[tuple[Any, Candidate]]) -> list[Candidate]:
        """Every item that a member gave, with its score and rank there; ids are those of the item that was returned."""
        ids = {self._key(item): candidate for item, candidate in returned}
        order = {name: place for place, name in enumerate(self.names)}
        answers = sorted(self._answers.values(), key=lambda answer: order.get(answer.name, len(order)))
        found: dict[Hashable, tuple[Candidate, dict[str, Signal | float | None]]] = {}
        for answer in answers:
            for key, (candidate, signal) in answer.items.items():
                of_item = found.setdefault(key, (ids.get(key, candidate), {}))
                of_item[1][answer.name] = signal
        return [
            msgspec.structs.replace(
                candidate, score=None, score_kind=None, score_source=None, signals=signals, admitted=False
            )
            for candidate, signals in found.values()
        ]
