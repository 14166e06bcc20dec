"""How much one caller may do: a bucket of requests per name, filled at a steady rate. Bounded."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

__all__ = ["RateLimit"]

_MOST_NAMES = 10_000


class RateLimit:
    """Lets `rate` requests a second through per name, and `burst` at once."""

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait_s(self, name: str) -> int:
        """0 when the request may go on, else the whole seconds after which to try again."""
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(name, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._rate)
            goes = left >= 1
            if len(self._buckets) >= _MOST_NAMES:  # the one that was asked for longest ago
                self._buckets.pop(next(iter(self._buckets)))
            self._buckets[name] = (left - goes, now)
        return 0 if goes else max(1, math.ceil((1 - left) / self._rate))
