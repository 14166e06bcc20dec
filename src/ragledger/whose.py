"""Whose rows are meant: a session's, an actor's, or those of named searches; under every name that they are kept under."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from .errors import ConfigError
from .feedback import parse_actor, parse_reference
from .keys import load_key
from .model import ActorKind, FeedbackRecord, Record, SearchRecord
from .privacy import Privacy
from .settings import Settings, config_home
from .sql import named_queries

if TYPE_CHECKING:
    from .postgres.connection import Connection

__all__ = ["Whose", "actor_parameters", "whose"]


class Whose(NamedTuple):
    """One of these. Names are as they were given, and keyed; an actor without a name has the empty one."""

    what: str
    sessions: tuple[str, ...] = ()
    actor: tuple[ActorKind, tuple[str, ...]] | None = None
    ids: tuple[UUID, ...] = ()

    def searches(self, connection: Connection) -> set[UUID]:
        """Their searches, and those inside of them. Named ones whether they are there or not."""
        if self.sessions:
            found = _rows(connection, "of_session", {"sessions": list(self.sessions)})
        elif self.actor is not None:
            found = _rows(connection, "of_actor", actor_parameters(self.actor))
        else:
            found = set(self.ids)
        return found | _rows(connection, "below", {"ids": list(found)})

    def owns(self, record: Record) -> bool:
        """Whether a record says itself that it is theirs."""
        if self.sessions:
            return isinstance(record, SearchRecord) and record.session_id in self.sessions
        if self.actor is not None and isinstance(record, (SearchRecord, FeedbackRecord)):
            kind, names = self.actor
            return record.actor_kind == kind and (record.actor_id or "") in names
        return False


def whose(
    settings: Settings,
    *,
    session: str | None = None,
    actor: str | None = None,
    search: Sequence[str] | None = None,
) -> Whose:
    """Reads what a command was given.

    Raises:
        ConfigError: nothing, or more than one of them.
        MalformedReference: an actor or a search that is none.
    """
    if sum(map(bool, (session, actor, search))) != 1:
        raise ConfigError("say whose rows: one of --session, --actor and --search")
    keyed = Privacy("keyed", load_key(settings.key, config_home(os.environ))).kept
    if session:
        return Whose("session", sessions=(session, keyed(session) or ""))
    if actor:
        kind, name = parse_actor(actor)
        return Whose("actor", actor=(kind, (name, keyed(name) or "") if name else ("",)))
    return Whose("search", ids=tuple([parse_reference(each, None, 1).search_id for each in search or ()]))


def actor_parameters(actor: tuple[ActorKind, tuple[str, ...]]) -> dict[str, Any]:
    """For the queries that ask for an actor."""
    kind, names = actor
    return {"actor_kind": kind, "actors": list(names)}


def _rows(connection: Connection, query: str, of: dict[str, Any]) -> set[UUID]:
    rows: Any = connection.execute(named_queries("whose")[query], of).fetchall()
    return {row[0] for row in rows}
