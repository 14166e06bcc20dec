"""The end that a signal asks for, of a command that runs on."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

__all__ = ["Ending"]


class Ending:
    """SIGTERM and SIGINT ask for it; `then` is called in the handler.

    A handler runs in the main thread between any two of its instructions, also inside `wait`. So it takes no lock: one of
    `threading.Event` that `wait` has just taken would be waited for without end.
    """

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self._asked = False
        self._then = then
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def asked(self) -> bool:
        """Whether it is time to end."""
        return self._asked

    def wait(self, seconds: float) -> bool:
        """Waits so long, or until it is time to end; says which."""
        select.select([self._read], [], [], max(0.0, seconds))
        return self._asked

    def _ask(self, *_: object) -> None:
        self._then()
        if not self._asked:
            self._asked = True
            os.write(self._write, b"\0")
