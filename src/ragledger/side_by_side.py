"""Queries that do not need each other, read on two connections where there are two, in one snapshot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import msgspec

from .scoped import ScopeReader

__all__ = ["Read", "read_all"]


class Read(NamedTuple):
    """A query of `sql/<file>.sql`, what one of its rows is, and parameters of its own."""

    file: str
    query: str
    fact: type[msgspec.Struct]
    given: Mapping[str, object] = {}


def read_all(
    reads: Iterable[Read], here: ScopeReader, other: ScopeReader | None, step: Callable[[int], None]
) -> dict[str, list[Any]]:
    """What each query found, by its name. Begun in the order given: those that take long should come first.

    `step` hears in the caller's thread how many are done. What is raised on either connection is raised here, after the
    other one has stopped.
    """
    todo = _Todo(reads)
    if other is None:
        todo.work(here, step)
        return todo.found
    with ThreadPoolExecutor(max_workers=1) as beside:
        helping = beside.submit(todo.work, other)
        try:
            todo.work(here, step)
        except BaseException:
            while not helping.done():
                other.connection.cancel()  # again, if it fell between two queries
                wait([helping], timeout=0.2)
            raise
        helping.result()
    todo.tell(step)
    return todo.found


class _Todo:
    """Reads that nobody has begun, and what the others found."""

    def __init__(self, reads: Iterable[Read]) -> None:
        self._waiting = deque(reads)
        self._told = 0
        self.found: dict[str, list[Any]] = {}

    def work(self, reader: ScopeReader, step: Callable[[int], None] | None = None) -> None:
        """Reads until nothing waits; where this fails, nobody goes on."""
        try:
            while self._waiting:
                try:
                    read = self._waiting.popleft()
                except IndexError:  # the other one was faster
                    return
                self.found[read.query] = reader.all(read.file, read.query, read.fact, **read.given)
                if step is not None:
                    self.tell(step)
        except BaseException:
            self._waiting.clear()
            raise

    def tell(self, step: Callable[[int], None]) -> None:
        """How many more are done, if any."""
        done = len(self.found)
        if done > self._told:
            step(done - self._told)
        self._told = done
