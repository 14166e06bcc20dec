"""The default way of writing: into a local journal, which a thread or a sidecar takes to the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .shipper_thread import ShipperThread

if TYPE_CHECKING:
    from .journal.journal import Journal
    from .model import Record
    from .shipper import Shipper

__all__ = ["Journalled"]


class Journalled:
    """Implements `ports.Backend`: what is kept survives the process. Without `make_shipper` a sidecar ships."""

    kept_as: Literal["journalled", "written"] = "journalled"

    def __init__(self, journal: Journal, make_shipper: Callable[[], Shipper] | None) -> None:
        self.journal = journal
        self.put: Callable[[Record], str | None] = journal.put
        self._make_shipper = make_shipper
        self.thread = ShipperThread(journal, make_shipper)
        journal.on_open = lambda: self.thread.start()  # the thread of that moment: a fork replaces it
        # Without a journal nothing else would start it: somebody has to tell the table what was refused.
        journal.on_failure = lambda: self.thread.start()
        journal.prepare()

    def drain(self, timeout_s: float) -> bool:
        """Waits until this process's records are in the table."""
        self.thread.start()
        return self.thread.drain(timeout_s)

    def close(self, timeout_s: float) -> None:
        """Drains, stops, and leaves a journal that anybody may adopt.

        A search after this still goes to the journal, of a new writer, and is shipped by whoever comes next.
        """
        deadline = time.monotonic() + timeout_s
        if self.thread.ships:  # a sidecar needs nobody to wait for it
            self.thread.hurry()
            self.thread.drain(timeout_s)
        self.journal.release()
        self.thread.stop(max(0.2, deadline - time.monotonic()))

    def after_fork(self) -> None:
        """The journal starts another writer by itself; the parent's thread does not exist in a child."""
        self.thread = ShipperThread(self.journal, self._make_shipper)

    def facts(self) -> dict[str, Any]:
        """Counters for a person."""
        writer = self.journal.writer
        state = writer.state if writer is not None else None
        return {
            "journal": str(self.journal.directory),
            "attempted": state.attempted if state is not None else 0,
            "published": state.published if state is not None else 0,
            "shipped": state.shipped if state is not None else 0,
            "refused": self.journal.all_refused(),
            "shipper": self.thread.facts(),
        }
