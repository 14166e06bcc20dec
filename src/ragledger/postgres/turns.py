"""COPY in turn: first this process makes all rows, then the server takes them.

The driver's own way keeps two cores busy at once. On a host with two, whoever searches then waits for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.copy import LibpqWriter, Writer

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined,unused-ignore]  # Python 3.12

    from psycopg import Cursor

__all__ = ["InTurn"]


class InTurn(Writer):
    """Holds what is written to one table until it is finished: of a batch, which the backlog bounds, some MB at most."""

    def __init__(self, cursor: Cursor[Any]) -> None:
        self._server = LibpqWriter(cursor)
        self._parts: list[bytes] = []

    def write(self, data: Buffer) -> None:
        """Keeps it; the driver may use its buffer again."""
        self._parts.append(bytes(data))

    def finish(self, exc: BaseException | None = None) -> None:
        """Sends all of it, or tells the server why there is nothing."""
        if exc is None:
            self._parts.reverse()
            while self._parts:
                self._server.write(self._parts.pop())  # not held any longer than it must
        self._parts.clear()
        self._server.finish(exc)
