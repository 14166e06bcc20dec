"""The end that a signal asks for, of a command that runs on."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Ending"]


class Ending:
    """SIGTERM and SIGINT ask for it while its block runs; `then` is called in the handler.

    A handler runs in the main thread between any two of its instructions, also inside `wait`. So it takes no lock: one of
    `threading.Event` that `wait` has just taken would be waited for without end.
    """

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self._asked = False
        self._then = then
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before.append((number, signal.signal(number, self._ask)))
        return self

    def __exit__(self, *_: object) -> None:
        while self._before:  # first: a handler writes to the pipe
            number, handler = self._before.pop()
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        os.close(self._read)
        os.close(self._write)

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
