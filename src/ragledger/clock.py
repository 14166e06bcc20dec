"""Time, handed in: the core never asks for it by itself."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Wall time for `started_at`, a monotonic counter for durations."""

    def wall_ns(self) -> int:
        """Nanoseconds since 1970, UTC."""
        ...

    def ticks_ns(self) -> int:
        """Nanoseconds of a clock that never steps back."""
        ...


class SystemClock:
    """The machine's clocks."""

    wall_ns = staticmethod(time.time_ns)
    ticks_ns = staticmethod(time.perf_counter_ns)
