"""The members of a composite retriever: what they ran with shapes its ranking as much as its own settings do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ragledger.extraction import Call, read
from ragledger.fusion import member_names

__all__ = ["RANKING", "Members", "members_of"]

RANKING = frozenset({"members", "member_settings"})
_NESTED = Call()
"""The call that a composite reads its members by. A row of weights holds two levels; the third says its own."""


class Members(NamedTuple):
    """`settings`: names by place, and what took effect in each; `unknown`: the members that nobody can read."""

    settings: dict[str, Any]
    unknown: tuple[str, ...]


_NOTHING = Members({}, ())


def members_of(retrievers: Sequence[Any], call: Call) -> Members:
    """Names and effective settings of the members; of a composite within a composite, nothing but its own."""
    if call is _NESTED:
        return _NOTHING
    settings: list[dict[str, Any] | None] = []
    unknown: list[str] = []
    for number, member in enumerate(retrievers, 1):
        weights = read(member, _NESTED).weights
        if weights.source == "unknown":
            unknown.append(f"member_{number}")
            settings.append(None)
        else:
            settings.append(dict(weights.effective))
    return Members({"members": member_names(retrievers), "member_settings": settings}, tuple(unknown))
