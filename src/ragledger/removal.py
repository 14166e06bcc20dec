"""Taking rows out of the table: retention by age, erasure of a session, an actor or a search.

The only place where rows are deleted. Rows and their numbers go in one transaction (`writers.removed`), so that
`ragledger verify --writers` still adds up; batches are bounded, so that nobody waits long for a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec
import psycopg

from .errors import DatabaseUnavailable
from .postgres.connection import keeps_texts
from .sql import named_queries
from .whose import actor_parameters

if TYPE_CHECKING:
    from .model import ActorKind
    from .postgres.connection import Connection

__all__ = ["BATCH", "Removed", "remove_searches", "remove_votes", "retain", "retain_texts"]

BATCH = 2000
_TRIES = 5
_OF_TEXTS = "texts_"


class Removed(msgspec.Struct, frozen=True):
    """Rows that were taken out, by table."""

    searches: int = 0
    hits: int = 0
    deliveries: int = 0
    assessments: int = 0
    feedback: int = 0
    pending_feedback: int = 0
    search_texts: int = 0

    def __add__(self, other: Removed) -> Removed:
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Removed(*[one + another for one, another in zip(mine, theirs, strict=True)])

    @property
    def rows(self) -> int:
        """In all tables."""
        return sum(msgspec.structs.astuple(self))


def retain(connection: Connection, before: datetime, *, batch: int = BATCH) -> Iterator[Removed]:
    """Removes what began before a moment, oldest first, batch by batch; each is done when it is yielded.

    The time is that in the id of a search. What was said later of an old search goes with it.

    Raises:
        DatabaseUnavailable: a statement was refused; what was yielded before stays removed.
    """
    limit = _first_id_at(before)
    while True:
        row = connection.execute(
            named_queries("removal")["oldest"], {"before": limit, "batch": batch}
        ).fetchone()
        last: Any = row[0] if row else None
        # The last round is for votes, deliveries and assessments whose search never came.
        yield _remove(connection, "remove_up_to", {"last": last if last is not None else _before(limit)})
        if last is None:
            return


def retain_texts(connection: Connection, before: datetime, *, batch: int = BATCH) -> Iterator[Removed]:
    """Removes the texts of searches that began before a moment, batch by batch; the searches stay. Raises as `retain`.

    Of each search the row of rank 0 stays, empty, with the number of the record.
    """
    queries = named_queries("removal")
    after: Any = UUID(int=0)
    while keeps_texts(connection):
        of = {"after": after, "before": _first_id_at(before), "batch": batch}
        row = connection.execute(queries["oldest_texts"], of).fetchone()
        if row is None:
            return
        yield _empty_texts(connection, {"after": after, "last": row[0]})
        after = row[0]


def remove_searches(
    connection: Connection, ids: Collection[UUID], *, batch: int = BATCH
) -> Iterator[Removed]:
    """Removes searches and everything said of them. Raises as `retain`."""
    every = sorted(ids)
    for start in range(0, len(every), batch):
        yield _remove(connection, "remove_searches", {"ids": every[start : start + batch]})


def remove_votes(connection: Connection, actor: tuple[ActorKind, tuple[str, ...]]) -> Removed:
    """Removes every vote that an actor gave, on whatever search. Raises as `retain`."""
    return _remove(connection, "remove_votes", actor_parameters(actor))


def _remove(connection: Connection, query: str, of: dict[str, Any]) -> Removed:
    queries = named_queries("removal")

    def once() -> Removed:
        texts = _of_texts(connection, query, of)
        row = connection.execute(queries[query] + "\n" + queries["account"], of).fetchone()
        return Removed(*row, search_texts=texts) if row else Removed()  # type: ignore[arg-type,misc]

    return _patiently(connection, once)


def _empty_texts(connection: Connection, of: dict[str, Any]) -> Removed:
    def once() -> Removed:
        row: Any = connection.execute(named_queries("removal")["empty_texts"], of).fetchone()
        return Removed(search_texts=int(row[0]))

    return _patiently(connection, once)


def _of_texts(connection: Connection, query: str, of: dict[str, Any]) -> int:
    """Removes the texts that go with what the query removes, where there is a table of them; how many rows."""
    queries = named_queries("removal")
    found = queries.get(_OF_TEXTS + query)
    if found is None or not keeps_texts(connection):
        return 0
    row = connection.execute(found + "\n" + queries["account_texts"], of).fetchone()
    return int(row[0]) if row else 0  # type: ignore[call-overload]


def _patiently(connection: Connection, once: Callable[[], Removed]) -> Removed:
    """Alone, in one transaction; again where that is refused: a vote may land on a hit that is being removed."""
    for left in reversed(range(_TRIES)):
        try:
            with connection.transaction():
                connection.execute(named_queries("removal")["lock"])
                return once()
        except (psycopg.errors.ForeignKeyViolation, psycopg.errors.DeadlockDetected):
            if not left:
                raise
        except psycopg.errors.InsufficientPrivilege:
            raise DatabaseUnavailable(
                "this user may not remove rows; run it as the owner of the tables or a member of ragledger_owner"
            ) from None
    raise AssertionError("unreachable")


def _first_id_at(moment: datetime) -> UUID:
    """The smallest UUIDv7 of that millisecond."""
    milliseconds = max(0, int(moment.timestamp() * 1000))
    return UUID(int=(milliseconds << 80) | (7 << 76) | (2 << 62))


def _before(limit: UUID) -> UUID:
    return UUID(int=limit.int - 1)
