"""What is remembered of searches, so that most votes need no database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from uuid import UUID

from .bounded import forget_oldest
from .model import votable

if TYPE_CHECKING:
    from .model import Admitted, Votable

__all__ = ["FoundSearches", "KnownSearches"]

_FOUND_FOR_S = 60.0
_MOST_FOUND = 2048
_MOST_HITS = 100


class KnownSearches:
    """The hits of the latest searches, for checking votes without the database. Bounded."""

    def __init__(self, limit: int = 2048) -> None:
        self._limit = limit
        self._hits: dict[int, Admitted] = {}  # by number: a UUID's hash is computed in Python

    def remember(self, search_id: UUID, hits: Admitted) -> None:
        """Keeps what may be voted on; forgets the oldest past the limit."""
        self._hits[search_id.int] = hits
        if len(self._hits) > self._limit:
            forget_oldest(self._hits)

    def hits_of(self, search_id: UUID) -> Votable | None:
        """None when the search is not known, or forgotten."""
        hits = self._hits.get(search_id.int)
        return None if hits is None else votable(hits)


class FoundSearches:
    """Hits of other processes' searches as the table had them a moment ago: not for long, because of erasure. Bounded."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[float, Votable]] = {}

    def remember(self, search_id: UUID, hits: Votable) -> None:
        """Keeps them for a minute, unless they are very many."""
        if len(hits) <= _MOST_HITS:
            self._found[search_id.int] = time.monotonic() + _FOUND_FOR_S, hits
            if len(self._found) > _MOST_FOUND:
                forget_oldest(self._found)

    def hits_of(self, search_id: UUID) -> Votable | None:
        """None when it was not found within the last minute."""
        until, hits = self._found.get(search_id.int, (0.0, ()))
        return hits if time.monotonic() < until else None
