"""Our own faults are counted, logged thinly and never reach the caller."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import weakref
from types import TracebackType

__all__ = ["Guard", "Section"]

_logger = logging.getLogger(__name__)


class Guard:
    """Hands out sections, by kind of fault: `with guard("row"): ...`. A section may be kept and used again.

    Where every search comes by, a section is written as `except Exception as fault: guard.take("row", fault)`: until
    something raises it costs nothing, and entering a section a third of a microsecond.

    A fault costs what its section would have done and nothing else. Every one is counted in `faults`; the log
    gets the first, the tenth, the hundredth, ... with the exception's type only, since a message may quote
    a query or a row. `strict` re-raises, for tests.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.faults: dict[str, int] = {}
        self._sections: dict[str, Section] = {}
        self._lock = threading.RLock()  # re-entrant: a signal handler may search
        _guards.add(self)

    def __call__(self, kind: str) -> Section:
        section = self._sections.get(kind)
        if section is None:
            section = self._sections[kind] = Section(self, kind)
        return section

    def take(self, kind: str, fault: Exception) -> None:
        """Counts a fault that was just caught, and raises it again where the guard is strict."""
        self.count(kind, fault)
        if self.strict:
            raise fault

    def count(self, kind: str, fault: BaseException | None = None) -> None:
        """Counts a fault that needed no section, such as a refused record."""
        with self._lock:
            number = self.faults.get(kind, 0) + 1
            self.faults[kind] = number
        if str(number).strip("0") == "1":
            what = type(fault).__name__ if fault is not None else "no exception"
            with contextlib.suppress(Exception):  # a log handler of the application may raise
                _logger.warning(
                    "ragledger: fault in %s (%s), %d so far; the search went on", kind, what, number
                )


class Section:
    """What one kind of fault is caught in. Reusable and re-entrant: it holds no state of its own."""

    __slots__ = ("_guard", "_kind")

    def __init__(self, guard: Guard, kind: str) -> None:
        self._guard = guard
        self._kind = kind

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if fault is None or not isinstance(fault, Exception):
            return False  # Ctrl-C and cancellation belong to the caller
        self._guard.count(self._kind, fault)
        return not self._guard.strict


_guards: weakref.WeakSet[Guard] = weakref.WeakSet()


def _after_fork() -> None:
    # Another thread of the parent may have held it, and does not exist here. Its faults are the parent's to report.
    for guard in list(_guards):
        guard.faults = {}
        guard._lock = threading.RLock()  # noqa: SLF001  the module's own class


os.register_at_fork(after_in_child=_after_fork)
