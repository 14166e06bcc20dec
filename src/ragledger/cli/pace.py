"""When something is told in the middle of work that takes long."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pace"]

_SHARE = 0.1


class Pace:
    """Each `every_s`, and less often where telling would take more than a tenth of the time."""

    def __init__(self, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._clock = clock
        self._next = clock() + every_s

    def begin(self) -> None:
        """The work begins now."""
        self._next = self._clock() + self._every_s

    def tell(self, telling: Callable[[], None]) -> None:
        """Tells, if it is time."""
        began = self._clock()
        if began < self._next:
            return
        telling()
        ended = self._clock()
        self._next = ended + max(self._every_s, (ended - began) / _SHARE)
