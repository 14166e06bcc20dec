"""What is remembered of searches, so that most votes need no database."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from .bounded import forget_oldest

if TYPE_CHECKING:
    from .model import Votable

__all__ = ["KnownSearches"]


class KnownSearches:
    """The hits of the latest searches, for checking votes without the database. Bounded."""

    def __init__(self, limit: int = 2048) -> None:
        self._limit = limit
        self._hits: dict[int, Votable] = {}  # by number: a UUID's hash is computed in Python

    def remember(self, search_id: UUID, hits: Votable) -> None:
        """Keeps the (rank, chunk id) pairs that may be voted on; forgets the oldest past the limit."""
        self._hits[search_id.int] = hits
        if len(self._hits) > self._limit:
            forget_oldest(self._hits)

    def hits_of(self, search_id: UUID) -> Votable | None:
        """None when the search is not known, or forgotten."""
        return self._hits.get(search_id.int)
