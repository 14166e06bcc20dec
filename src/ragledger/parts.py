"""The living parts of a ledger and the order in which they stop.

Holds no ledger: it is what a finalizer keeps, at garbage collection and at interpreter exit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .guard import Guard
from .ports import HitLookup
from .recorder import Recorder

if TYPE_CHECKING:
    from .clock import Clock
    from .journal.journal import Journal
    from .ledger import Ledger
    from .ports import Narrator
    from .shipper import ShipperThread

__all__ = ["Parts"]


@dataclass(kw_only=True)
class Parts:
    """Made by `wiring`. `lookup` is None where a vote is never checked against the database.

    `remake` replaces, in a forked child, what cannot be inherited; `release` gives up the embedded server.
    """

    project: str
    guard: Guard
    journal: Journal
    thread: ShipperThread
    lookup: HitLookup | None
    key: bytes
    narrator: Narrator
    clock: Clock
    remake: Callable[[Parts], None]
    release: Callable[[], None]

    def recorder_for(self, ledger: Ledger) -> Recorder:
        """The ledger's recorder."""
        return Recorder(
            ledger,
            project=self.project,
            sink=self.journal,
            narrator=self.narrator,
            guard=self.guard,
            clock=self.clock,
        )

    def drain(self, timeout_s: float) -> bool:
        """Waits until this process's records are in the table."""
        self.thread.start()
        return self.thread.drain(timeout_s)

    def close(self, timeout_s: float) -> None:
        """Drains, stops, and leaves a journal that anybody may adopt.

        A search after this still goes to the journal, of a new writer, and is shipped by whoever comes next.
        """
        deadline = time.monotonic() + timeout_s
        with self.guard("close"):
            if self.thread.ships:  # a sidecar needs nobody to wait for it
                self.thread.drain(timeout_s)
            self.journal.release()
            self.thread.stop(max(0.2, deadline - time.monotonic()))
        with self.guard("close"):
            self.release()

    def after_fork(self) -> None:
        """In the child: threads and connections of the parent do not exist here."""
        self.remake(self)

    def facts(self) -> dict[str, Any]:
        """Counters for a person."""
        writer = self.journal.writer
        state = writer.state if writer is not None else None
        return {
            "journal": str(self.journal.directory),
            "attempted": state.attempted if state is not None else 0,
            "published": state.published if state is not None else 0,
            "shipped": state.shipped if state is not None else 0,
            "refused": dict(self.journal.refused) | (state.refused if state is not None else {}),
            "shipper": self.thread.facts(),
        }
