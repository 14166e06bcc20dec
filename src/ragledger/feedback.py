"""The rules of a vote (P7): what is malformed, what is unknown, what was not returned, what must wait. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args
from uuid import UUID

from . import sanitise
from .errors import HitNotReturned, MalformedReference
from .ids import time_of
from .model import ActorKind, Outcome, Votable

__all__ = [
    "Reference",
    "may_be_ours",
    "may_still_arrive",
    "parse_actor",
    "parse_deliverer",
    "parse_outcome",
    "parse_reference",
    "rank_in",
]

_OUTCOMES = get_args(Outcome)
_ACTOR_KINDS = get_args(ActorKind)
_DELIVERERS: tuple[Literal["postprocessor", "reranker", "application"], ...] = (
    "postprocessor",
    "reranker",
    "application",
)
_INT4_MAX = 2**31 - 1
_MAX_ID = 512
_CLOCK_SKEW = timedelta(hours=1)


class Reference(NamedTuple):
    """A hit, by rank or by chunk id."""

    search_id: UUID
    rank: int | None
    chunk_id: str | None

    @property
    def words(self) -> str:
        """For messages; a chunk id is not repeated, since messages end up in logs."""
        return f"a hit at rank {self.rank}" if self.rank is not None else "a hit with this chunk id"


def parse_reference(search_id: Any, chunk_id: Any, rank: Any) -> Reference:
    """A reference of the right form.

    Raises:
        MalformedReference: not a UUID, or neither or both of chunk id and rank, or one of the wrong type.
    """
    search = sanitise.identifier(search_id, set())
    if search is None:
        raise MalformedReference("search_id is not a UUID; use the search_id of a receipt")
    if (chunk_id is None) == (rank is None):
        raise MalformedReference("name the hit by its chunk_id or by its rank, and not by both")
    if rank is not None and (
        isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= _INT4_MAX
    ):
        raise MalformedReference("rank is a whole number, 1 for the first hit")
    return Reference(search, rank, _chunk_id(chunk_id) if chunk_id is not None else None)


def _chunk_id(value: Any) -> str:
    # Changed as the stored id was, so that the id which the framework gave is found as well.
    is_id = isinstance(value, (str, int, UUID)) and not isinstance(value, bool)
    found = sanitise.text(value, set()) if is_id else None
    if not found:
        raise MalformedReference("chunk_id is a non-empty text, as the search returned it")
    return found


def _is_id(value: Any) -> bool:
    if not isinstance(value, str) or not 1 <= len(value) <= _MAX_ID or "\0" in value:
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def parse_outcome(outcome: Any) -> Outcome:
    """One of the four outcomes.

    Raises:
        MalformedReference: anything else.
    """
    if not isinstance(outcome, str) or outcome not in _OUTCOMES:
        raise MalformedReference(f"outcome is one of {', '.join(_OUTCOMES)}")
    return _OUTCOMES[_OUTCOMES.index(outcome)]  # type: ignore[no-any-return]  # plain, also for a text enum


def parse_actor(actor: Any) -> tuple[ActorKind, str | None]:
    """`human:ana` as kind and name; nothing said is `system`.

    Raises:
        MalformedReference: an unknown kind: a vote's voter is never guessed.
    """
    if actor is None:
        return "system", None
    if not isinstance(actor, str) or (actor and not _is_id(actor)):
        raise MalformedReference("actor is a text such as `human:ana` or `agent:planner`")
    kind, _, name = actor.partition(":")
    if kind not in _ACTOR_KINDS:
        raise MalformedReference(f"actor starts with one of {', '.join(_ACTOR_KINDS)}, then `:` and a name")
    return kind, name or None  # type: ignore[return-value]


def rank_in(hits: Votable, reference: Reference) -> int:
    """The rank of the hit that the reference means.

    Raises:
        HitNotReturned: the search returned no such hit.
    """
    for rank, chunk_id in hits:
        if rank == reference.rank or (reference.chunk_id is not None and chunk_id == reference.chunk_id):
            return rank
    raise HitNotReturned(reference.search_id, reference.words)


def may_be_ours(search_id: UUID, now: datetime) -> bool:
    """Whether a ledger can have made this id: one of another version, or from the future, is none of ours."""
    made = time_of(search_id)
    return made is not None and made <= now + _CLOCK_SKEW


def may_still_arrive(search_id: UUID, now: datetime, deadline_h: float) -> bool:
    """Whether a search that is not in the table may still be in somebody's journal: its own id tells its age."""
    made = time_of(search_id)
    return may_be_ours(search_id, now) and made is not None and now - timedelta(hours=deadline_h) <= made


def parse_deliverer(by: Any) -> Literal["postprocessor", "reranker", "application"]:
    """Who put the hits into their final order.

    Raises:
        MalformedReference: anything else.
    """
    if not isinstance(by, str) or by not in _DELIVERERS:
        raise MalformedReference(f"by is one of {', '.join(_DELIVERERS)}")
    return _DELIVERERS[_DELIVERERS.index(by)]
