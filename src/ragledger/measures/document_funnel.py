"""How far a unit came: retrieved, admitted, shown, accessed, judged, useful. A unit counts once per search, at its best place.

What was *expected* of it is read off the ranks it was shown at: how often hits at that rank of that surface are accessed, or
found useful, whoever they are (COEC: Zhang & Jones 2007). So a unit at rank 9 is not blamed for what nobody does at rank 9.
The counting is in `exposures.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragledger.model import ActorKind

__all__ = ["KINDS", "NEVER_SEEN", "Funnel", "Said"]

_ROUNDING = 1e-9

KINDS: tuple[ActorKind, ...] = ("human", "agent", "judge", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The votes of one kind of actor. A vote: what one actor said of the unit in one search, of several chunks the best.

    `against`: actors that said not useful. `found`: searches in which it was useful; `expected`: how many of those in which it
    was voted on would be, if it were like whatever else was voted on at its places. A showing without a vote changes neither.
    """

    useful: int = 0
    not_useful: int = 0
    actors: int = 0
    against: int = 0
    found: float = 0.0
    expected: float = 0.0

    @property
    def votes(self) -> int:
        return self.useful + self.not_useful

    @property
    def over_expected(self) -> float | None:
        """Above 1: better than its places explain."""
        return self.found / self.expected if self.expected else None

    @property
    def holds_its_place(self) -> bool:
        """Useful to somebody, and no less than what else was voted on at its places."""
        return self.useful > 0 and self.found >= self.expected - _ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """Searches in which the unit was retrieved, and so on. `first` and `last` are seconds since 1970."""

    retrieved: int = 0
    admitted: int = 0
    shown: int = 0
    accessed: int = 0
    expected_accessed: float = 0.0
    best_place: int | None = None
    first: float | None = None
    last: float | None = None
    said: Mapping[ActorKind, Said] = field(default_factory=dict)


NEVER_SEEN = Funnel()
