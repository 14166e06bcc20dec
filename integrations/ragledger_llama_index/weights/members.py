"""The members of a composite retriever: what they ran with shapes its ranking as much as its own settings do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ragledger.extraction import MOST_LEVELS, Call, read, unknown_within
from ragledger.fusion import member_names

__all__ = ["RANKING", "Members", "members_of"]

RANKING = frozenset({"members", "member_settings"})


class Members(NamedTuple):
    """`settings`: names by place, and what took effect in each; `unknown`: what of them nobody can read."""

    settings: dict[str, Any]
    unknown: tuple[str, ...]


_WITHIN = tuple([Call(level=level) for level in range(1, MOST_LEVELS + 1)])


def members_of(retrievers: Sequence[Any], call: Call) -> Members:
    """Names and effective settings of the members, of composites within composites too."""
    names = {"members": member_names(retrievers)}
    if call.level >= MOST_LEVELS:
        return Members(names, ("member_settings",))
    settings: list[dict[str, Any] | None] = []
    unknown: list[str] = []
    for number, member in enumerate(retrievers, 1):
        weights = read(member, _WITHIN[call.level]).weights
        if weights.source == "unknown":
            unknown.append(f"member_{number}")
            settings.append(None)
        else:
            unknown.extend(unknown_within(number, weights.unknown))
            settings.append(dict(weights.effective))
    return Members({**names, "member_settings": settings}, tuple(unknown))
