"""Brings together the documents that searches found, those that an inventory names, and those that only rollups know."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime

import numpy as np

from ragledger.measures.curation import Standing
from ragledger.measures.reindex import Moves
from ragledger.measures.sightings import Sightings

from .inventory import Inventory, Item
from .kept import Kept

__all__ = ["Stock"]

_KEYED = re.compile(r"k:[0-9a-f]{32}")


class Stock:
    """Every document once, with what is known of it beside its funnel."""

    def __init__(
        self,
        sightings: Sightings,
        moves: Moves,
        inventory: Inventory | None,
        kept: Kept,
        keyed: Callable[[str], str | None],
    ) -> None:
        self._sightings, self._moves, self._kept = sightings, moves, kept
        self._numbers = {name: number for number, name in enumerate(sightings.units)}
        self._searched: dict[str, list[float]] = {
            corpus: np.sort(sightings.started[sightings.corpus == code]).tolist()
            for code, corpus in enumerate(sightings.corpora)
        }
        self._searched_anywhere: list[float] = np.sort(sightings.started).tolist()
        self._corpora_of: dict[str, list[str]] = defaultdict(list)
        for corpus, unit in [*self._numbers, *(name for name in kept.earlier if name not in self._numbers)]:
            self._corpora_of[unit].append(corpus)
        self._keyed = keyed if any(map(_KEYED.fullmatch, self._corpora_of)) else None
        self._speaks_for: set[str | None] = set()
        self._listed: dict[tuple[str, str], datetime | None] = {}
        self._unseen: dict[tuple[str, str], Item] = {}
        for item in inventory.items if inventory is not None else ():
            self._take(item)
        self.matched = len(self._listed)

    def documents(self) -> Iterator[tuple[str, str, int | None, Standing]]:
        """Corpus, id, number in the sightings and standing. What a reindex replaced and nothing is left of comes, too."""
        for (corpus, unit), number in self._numbers.items():
            yield corpus, unit, number, self._standing(corpus, unit, number)
        for corpus, unit in self._kept.earlier:
            if (corpus, unit) not in self._numbers:
                yield corpus, unit, None, self._standing(corpus, unit, None)
        for (corpus, unit), item in self._unseen.items():
            yield corpus, unit, None, self._standing(corpus, unit, None, item)

    def _take(self, item: Item) -> None:
        """Finds a document of the inventory in the table, under its id as it is or as it is kept."""
        self._speaks_for.add(item.corpus)
        names = [item.id] if self._keyed is None else [item.id, self._keyed(item.id) or item.id]
        found = [
            (corpus, name)
            for name in names
            for corpus in self._corpora_of.get(name, ())
            if item.corpus is None or corpus == item.corpus
        ]
        for name in found:
            self._listed[name] = item.since
        if not found:
            self._unseen[item.corpus or "", item.id] = item

    def _standing(self, corpus: str, unit: str, number: int | None, item: Item | None = None) -> Standing:
        since = item.since if item is not None else self._listed.get((corpus, unit))
        searched = self._of(corpus, item)
        complete = self._kept.complete_since
        return Standing(
            newest=searched[-1] if searched else None,
            searches=len(searched) - (bisect_left(searched, since.timestamp()) if since is not None else 0),
            known_since=since.timestamp() if since is not None else None,
            listed=self._is_listed(corpus, unit, item),
            matched=self.matched > 0 or not self._numbers,
            replaced=number is not None and number in self._moves.successors,
            missing_rows=complete is not None and (since is None or since < complete),
            earlier=self._kept.earlier.get((corpus, unit)),
        )

    def _of(self, corpus: str, item: Item | None) -> list[float]:
        if item is not None and item.corpus is None:
            return self._searched_anywhere
        return self._searched.get(corpus, [])

    def _is_listed(self, corpus: str, unit: str, item: Item | None) -> bool | None:
        if item is not None or (corpus, unit) in self._listed:
            return True
        # An inventory of nothing that we know says nothing of what we know.
        speaks = self.matched > 0 and (None in self._speaks_for or corpus in self._speaks_for)
        return False if speaks else None
