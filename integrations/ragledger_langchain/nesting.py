"""What goes on between a composite retriever and its members: ranks and scores up, and whether dense retrieval answered.

A fusing retriever's observation carries a `Fusion` while it is open; a member hands over its answer when its own
search ends. It holds texts where the retriever itself matches by text, and is dropped when the search is closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ragledger.extraction import Reading
from ragledger.fusion import Fusion, signal_of, unscored
from ragledger.model import Candidate, Returned

from .weights.members import unwrapped

__all__ = ["Admission", "Members", "fusion_for", "items_of", "tag_of"]

_TAG = re.compile(r"retriever_([0-9]{1,6})")
_TAGGING = frozenset({"EnsembleRetriever", "MergerRetriever"})
_INDIRECT = frozenset({"RunnableConfigurableFields", "RunnableConfigurableAlternatives"})


class Members(Fusion):
    """The members of one fusing search, found by the tag that the retriever gives each of their calls.

    The tag tells two calls of one object apart, also when they are interleaved. It does not get through retries
    and fallbacks: there the object tells.
    """

    def __init__(self, members: Sequence[Any], key: Callable[[Any], Hashable], *, tagged: bool) -> None:
        super().__init__([unwrapped(member)[0] for member in members], key)
        self._reach = [_reach(member, tagged=tagged) for member in members]

    def answer(self, retriever: object, tag: int | None, items: Iterable[tuple[Any, Candidate]]) -> None:
        """Keeps what a call inside of this search gave, when it is a member's."""
        if (name := self.place(retriever, tag)) is not None:
            self.take(name, items)

    def own_scores(self, returned: Iterable[tuple[Any, Candidate]]) -> list[Candidate]:
        """What was returned, without the numbers that are still a member's: fusion hands its items on as they are."""
        return [
            unscored(candidate)
            if candidate.score is not None and candidate.score in self._numbers(item, candidate)
            else candidate
            for item, candidate in returned
        ]

    def _numbers(self, item: Any, candidate: Candidate) -> set[float]:
        return self.given(item)

    def place(self, retriever: object, tag: int | None) -> str | None:
        """The name of the member that this call is the answer of; None when it is of none."""
        if tag is not None:
            return self.names[tag] if tag < len(self.names) else None
        return self.name_of(retriever)


class Admission(Members):
    """The base of a compressing retriever: all it found are candidates, what the compressor leaves is admitted.

    A compressor may give new documents without an id. What has the content of one that the base found is that one.
    """

    def __init__(self, base: Any) -> None:
        super().__init__([base], _content, tagged=False)
        self._any = type(unwrapped(base)[0]).__name__ in _INDIRECT
        self._found: list[tuple[Any, Candidate]] = []

    def place(self, retriever: object, tag: int | None) -> str | None:
        """The first answer of the base: what the compressor itself asks comes later."""
        if self._any:  # made anew for each call, so no object tells
            return None if self._answers else self.names[0]
        return super().place(retriever, None)

    def take(self, name: str, items: Iterable[tuple[Any, Candidate]]) -> None:
        """Keeps what the base found, with its content as it is now."""
        super().take(name, ())
        self._found = [(_content(item), candidate) for item, candidate in items]

    def identified(self, returned: Iterable[tuple[Any, Candidate]]) -> list[Candidate]:
        """What was returned, under the ids that the base knows it by."""
        ids = {candidate.chunk_id for _, candidate in self._found}
        left: dict[Any, list[Candidate]] = {}
        for content, candidate in reversed(self._found):
            left.setdefault(content, []).append(candidate)
        return [self._identified(item, candidate, ids, left) for item, candidate in returned]

    def _numbers(self, item: Any, candidate: Candidate) -> set[float]:
        same = candidate.chunk_id
        return {each.score for _, each in self._found if each.chunk_id == same and each.score is not None}

    @staticmethod
    def _identified(
        item: Any, candidate: Candidate, ids: set[str | None], left: Mapping[Any, list[Candidate]]
    ) -> Candidate:
        if candidate.chunk_id in ids or candidate.chunk_id_source != "derived":
            return candidate
        same = left.get(_content(item))
        if not same:
            return candidate
        base = same.pop() if len(same) > 1 else same[0]
        return msgspec.structs.replace(
            candidate,
            chunk_id=base.chunk_id,
            chunk_id_source=base.chunk_id_source,
            document_id=candidate.document_id or base.document_id,
            source_kind=candidate.source_kind or base.source_kind,
        )

    def candidates(self, returned: Iterable[tuple[Any, Candidate]]) -> list[Candidate]:
        """All that the base found, with its score and rank there."""
        return [
            unscored(candidate, signals={self.names[0]: signal_of(candidate, rank)}, admitted=False)
            for rank, (_, candidate) in enumerate(self._found, 1)
        ]


def fusion_for(retriever: Any, reading: Reading) -> Members:
    """For one search of a retriever that has members."""
    if hasattr(retriever, "base_compressor"):
        return Admission(reading.members[0])
    names = {base.__name__ for base in type(retriever).__mro__}
    key = reading.key
    if key is None and "EnsembleRetriever" not in names:
        key = _id_or_content
    elif key is None:
        id_key = getattr(retriever, "id_key", None)
        key = _content if id_key is None else lambda item: item.metadata[id_key]
    return Members(reading.members, key, tagged=not _TAGGING.isdisjoint(names))


def tag_of(config: Any) -> int | None:
    """Which member is called, by the tag on the callbacks of this very call: 0 for the first."""
    tags = getattr((config or {}).get("callbacks"), "tags", None)
    found = _TAG.fullmatch(tags[-1]) if tags else None
    return int(found[1]) - 1 if found is not None else None


def items_of(
    result: Any, returned: list[Candidate] | Returned | None
) -> Iterator[tuple[Any, Candidate]] | None:
    """The live items beside what is stored of them; None where they could not be read."""
    if returned is None:
        return None
    read = returned.candidates() if isinstance(returned, Returned) else returned
    return zip(result, read, strict=True)


def _reach(member: Any, *, tagged: bool) -> list[Any]:
    """The objects that may answer for a member whose calls carry no tag; none where they do."""
    loose = not tagged
    waiting, found = [member], []
    while waiting:
        each = waiting.pop()
        kind = type(each).__name__
        if kind == "RunnableWithFallbacks":
            loose = True
            waiting.extend([each.runnable, *each.fallbacks])
        elif kind in {"RunnableBinding", "RunnableRetry"}:
            loose = loose or kind == "RunnableRetry"
            waiting.append(each.bound)
        else:
            found.append(each)
    return found if loose else []


def _content(item: Any) -> Hashable:
    return item if isinstance(item, str) else item.page_content


def _id_or_content(item: Any) -> Hashable:
    return getattr(item, "id", None) or _content(item)
