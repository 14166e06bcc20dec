"""Which clusters an interval takes: searches, and the people or agents behind the votes where these are few.

Votes of one actor are alike, too: they share a taste and a strictness. With many actors that is averaged out; with few it
is most of the uncertainty. So with fewer than `FEW` actors the interval is computed over searches and over actors, and the
wider one stands. With one actor there is nothing to compute it from: the number is one voter's opinion, and says so.
"""

from __future__ import annotations

from typing import Literal

from .interval import Interval, Sums, clustered

__all__ = ["FEW", "ClusteredBy", "wider"]

FEW = 20
"""From so many actors on, clusters are searches alone."""

ClusteredBy = Literal["search", "actor"]


def wider(by_search: Sums, by_actor: Sums | None) -> tuple[Interval | None, ClusteredBy | None]:
    """The interval of U / J that is to be shown, and what its clusters are; None where one search is all there is."""
    searches = clustered(by_search)
    if searches is None:
        return None, None
    actors = clustered(by_actor) if by_actor is not None and by_actor.clusters < FEW else None
    if actors is not None and actors.high - actors.low > searches.high - searches.low:
        return actors, "actor"
    return searches, "search"
