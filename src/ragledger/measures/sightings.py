"""What searches found, as arrays: one entry per hit that names its unit, one per search. Codes are places in lists of names.

A *unit* is what is curated: a document, or a chunk. The arithmetic on top of it is in `exposure.py`, `reindex.py`, `gaps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .ranks import TOP

__all__ = ["BEYOND", "NOWHERE", "PLACES", "Reaction", "Sightings", "place_of"]

BEYOND = TOP + 1
"""All places further down are one."""
NOWHERE = 0
"""The place of what was not shown: not admitted, or dropped by the delivery."""
PLACES = BEYOND + 1


@dataclass(kw_only=True)
class Sightings:
    """Of hits: `search`, `unit`, `rank` (below 0: not admitted), `place`, `content` (-1: no key). Of searches: the rest."""

    search: Any
    unit: Any
    rank: Any
    place: Any
    content: Any

    corpus: Any
    surface: Any
    epoch: Any
    started: Any
    """Seconds since 1970."""
    former: Any
    """Whether it ran on an older index version than its corpus has now."""
    version: Any
    """Corpus and index version."""
    query: Any
    """-1: the question has no key."""
    answer: Sequence[str | None]
    """found, untold, padded, empty; None where the question has no key."""
    top_score: Any
    """NaN: not known."""

    units: list[tuple[str, str]]
    corpora: list[str]
    surfaces: list[str | None]
    epochs: list[str]
    queries: list[bytes]
    numbers: dict[str, int] = field(default_factory=dict)
    """The place of a search by its id, where the id is known."""
    unnamed: int = 0
    """Hits that name no unit."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """What one actor did to one unit in one search: `outcome` 0 is the worst one, None: only accessed."""

    search: int
    unit: int
    kind: str
    actor: str | None
    outcome: int | None


def place_of(rank: Any) -> Any:
    """Where hits stood that no delivery moved."""
    return np.where(rank > 0, np.minimum(rank, BEYOND), NOWHERE)
