"""Checking a vote for a search that another process made. Bounded in time, and patient with an outage."""

from __future__ import annotations

import os
import threading
import time
from typing import Any
from uuid import UUID

import psycopg

from ragledger.errors import DatabaseUnavailable
from ragledger.model import Votable
from ragledger.ports import TraceIds
from ragledger.spans import quietly
from ragledger.sql import named_queries

from .connection import Connection, connect

__all__ = ["PostgresLookup"]

_STATEMENT_TIMEOUT_S = 1.0
_REST_AFTER_FAILURE_S = 5.0


class PostgresLookup:
    """Implements `ports.HitLookup` on one connection of its own, opened at the first check."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._schema = schema
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._pid = 0
        self._resting_until = 0.0

    def find(self, search_id: UUID) -> Votable | None:
        """The admitted hits of a search; after a failure it answers "unavailable" at once for a few seconds."""
        with quietly(), self._lock:
            if time.monotonic() < self._resting_until and self._pid == os.getpid():
                raise DatabaseUnavailable("the database was unreachable a moment ago")
            try:
                rows = self._ask(search_id)
            except (psycopg.Error, DatabaseUnavailable) as exc:
                self._close()
                self._resting_until = time.monotonic() + _REST_AFTER_FAILURE_S
                raise DatabaseUnavailable(f"the vote cannot be checked now ({type(exc).__name__})") from None
        if not rows:
            return None
        return tuple([(rank, chunk_id) for rank, chunk_id in rows if rank is not None])

    def find_trace(self, search_id: UUID) -> TraceIds | None:
        """The span of a search; None when there is no such search, or it cannot be asked now."""
        with quietly(), self._lock:
            if time.monotonic() < self._resting_until and self._pid == os.getpid():
                return None
            try:
                query = named_queries("ship")["find_trace"]
                row = self._open().execute(query, {"search_id": search_id}).fetchone()
            except (psycopg.Error, DatabaseUnavailable):
                self._close()
                return None
        return TraceIds(*row) if row is not None else None  # type: ignore[arg-type]

    def close(self) -> None:
        """Closes the connection; the next check opens another one."""
        with self._lock:
            self._close()

    def _ask(self, search_id: UUID) -> list[Any]:
        query, wanted = named_queries("ship")["find_hits"], {"search_id": search_id}
        kept = self._connection
        try:
            return self._open().execute(query, wanted).fetchall()
        except psycopg.OperationalError:
            if self._connection is not kept:
                raise
            # Votes are rare: a connection that was kept since the last one has often been cut meanwhile.
            self._close()
            return self._open().execute(query, wanted).fetchall()

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed or self._pid != os.getpid():
            # A parent's connection is dropped, not closed: the socket belongs to the parent.
            self._pid = os.getpid()
            self._connection = connect(
                self._dsn,
                self._schema,
                role="ragledger_writer",
                statement_timeout_s=_STATEMENT_TIMEOUT_S,
            )
        return self._connection

    def _close(self) -> None:
        if self._connection is not None and self._pid == os.getpid():
            self._connection.close()
        self._connection = None
