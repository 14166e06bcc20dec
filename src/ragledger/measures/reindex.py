"""Votes follow content over a reindex: what a hit of an older index version was about is the unit that holds its content now.

A content key that one unit held in the older version and one other unit holds in the newest has moved there. One that its
own unit still holds stays. One that several units held or hold (a licence, a footer) belongs to none of them for sure, and
one that was not seen since is nowhere: what was said of those stays with the old id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .sightings import Sightings

__all__ = ["SAME", "SEVERAL", "STAYED", "UNKEYED", "UNSEEN", "Moves", "follow"]

STAYED, UNKEYED, SAME, SEVERAL, UNSEEN = 0, 1, 2, 3, 4
"""Why a hit of an older index version did not move; STAYED: it moved, or was no old hit."""


@dataclass(frozen=True)
class Moves:
    """`unit` is what each hit is about now, `moved` which ones changed, `why_not` the reason of an old hit that did not.

    `successors` names, of each unit that the newest index does not have any more, where its content went.
    """

    unit: Any
    moved: Any
    why_not: Any
    successors: dict[int, tuple[int, ...]]


def follow(sightings: Sightings) -> Moves:
    """Where the units of older index versions are now."""
    unit, content = sightings.unit.astype(np.int64), sightings.content
    old = sightings.former[sightings.search]
    why_not = np.full(len(unit), STAYED, dtype=np.int8)
    if not old.any():
        return Moves(unit=unit, moved=np.zeros(len(unit), dtype=bool), why_not=why_not, successors={})
    why_not[old] = UNKEYED
    now, at = np.flatnonzero((content >= 0) & ~old), np.flatnonzero((content >= 0) & old)
    units, contents = len(sightings.units), int(content.max(initial=-1)) + 1
    held = np.unique(content[now] * units + unit[now])
    holders = np.bincount(held // units, minlength=contents)
    holder = np.full(contents, -1, dtype=np.int64)
    holder[held // units] = held % units
    same = np.isin(content[at] * units + unit[at], held)
    several = (holders[content[at]] > 1) | ~_alone(sightings, at)
    why_not[at] = np.select(
        [same, holders[content[at]] == 0, several], [SAME, UNSEEN, SEVERAL], default=STAYED
    )
    moving = at[why_not[at] == STAYED]
    followed, moved = unit.copy(), np.zeros(len(unit), dtype=bool)
    followed[moving], moved[moving] = holder[content[moving]], True
    here = set(np.unique(unit[~old]).tolist())
    return Moves(
        unit=followed, moved=moved, why_not=why_not, successors=_successors(unit, followed, moved, here)
    )


def _alone(sightings: Sightings, hits: Any) -> Any:
    """Whether the content of these hits was in one unit only, in the index version of the hit."""
    versions = int(sightings.version.max(initial=0)) + 1
    place = sightings.content[hits] * versions + sightings.version[sightings.search[hits]]
    places, which = np.unique(place, return_inverse=True)
    units = len(sightings.units)
    pairs = np.unique(which * units + sightings.unit[hits])
    return (np.bincount(pairs // units, minlength=len(places)) == 1)[which]


def _successors(unit: Any, followed: Any, moved: Any, still_here: set[int]) -> dict[int, tuple[int, ...]]:
    found: dict[int, set[int]] = {}
    for former, successor in set(zip(unit[moved].tolist(), followed[moved].tolist(), strict=True)):
        if former not in still_here:
            found.setdefault(former, set()).add(successor)
    return {former: tuple(sorted(successors)) for former, successors in found.items()}
