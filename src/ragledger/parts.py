"""The living parts of a ledger and the order in which they stop.

Holds no ledger: it is what a finalizer keeps, at garbage collection and at interpreter exit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .guard import Guard
from .ports import Backend, HitLookup
from .recorder import Recorder
from .texts import TextsPause

if TYPE_CHECKING:
    from .clock import Clock
    from .ledger import Ledger
    from .ports import Listener, Narrator

__all__ = ["Parts"]


@dataclass(kw_only=True)
class Parts:
    """Made by `wiring`. `lookup` is None where a vote is never checked against the database.

    `release` gives up what the parts were made from: connections, the embedded server.
    """

    guard: Guard
    backend: Backend
    lookup: HitLookup | None
    key: bytes
    narrator: Narrator
    clock: Clock
    release: Callable[[], None]
    listeners: Sequence[Listener] = ()
    texts_pause: TextsPause = field(default_factory=TextsPause)

    def recorder_for(self, ledger: Ledger) -> Recorder:
        """The ledger's recorder."""
        recorder = Recorder(
            ledger,
            sink=self.backend,
            narrator=self.narrator,
            guard=self.guard,
            clock=self.clock,
            kept_as=self.backend.kept_as,
            texts_pause=self.texts_pause,
        )
        recorder.listen(self.listeners)
        return recorder

    def close(self, timeout_s: float) -> None:
        """Ends the background work, then gives up what it ran on."""
        with self.guard("close"):
            self.backend.close(timeout_s)
        with self.guard("close"):
            self.release()
