"""Time that a test moves."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FrozenClock"]


@dataclass
class FrozenClock:
    """Implements `clock.Clock`: stands still until `forward`. It starts on 21 September 2026, 14:13:20 UTC."""

    wall: int = 1_790_000_000_000_000_000
    ticks: int = 5_000_000_000

    def wall_ns(self) -> int:
        """Nanoseconds since 1970, UTC."""
        return self.wall

    def ticks_ns(self) -> int:
        """Nanoseconds of a clock that never steps back."""
        return self.ticks

    def forward(self, ms: float) -> None:
        """Lets time pass on both clocks."""
        self.wall += int(ms * 1e6)
        self.ticks += int(ms * 1e6)
