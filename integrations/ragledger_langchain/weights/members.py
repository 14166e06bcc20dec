"""The retrievers inside of a retriever: found through bindings, and what each of them gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragledger.extraction import MOST_LEVELS, Call, read, unknown_within
from ragledger.fusion import member_names
from ragledger_langchain.installed import known_state

__all__ = ["Member", "Members", "member_of", "members_of", "unwrapped"]


class Member(NamedTuple):
    """A retriever inside of another: its class, and what takes effect in it; None where that is not known."""

    name: str
    settings: dict[str, Any] | None
    unknown: tuple[str, ...] = ()
    """What of it cannot be said."""


def unwrapped(member: Any) -> tuple[Any, dict[str, Any]]:
    """What a `.bind()` or `.with_config()` stands for, and the arguments that it adds."""
    kwargs: dict[str, Any] = {}
    while type(member).__name__ in {"RunnableBinding", "RunnableRetry"}:
        kwargs = {**member.kwargs, **kwargs}
        member = member.bound
    return member, kwargs


def member_of(member: Any, call: Call, given: Mapping[str, Any] | None = None) -> Member:
    """How many candidates a member gives, and by which search, shapes the ranking as much as weights do.

    Args:
        given: the arguments of the outer call that reach it.
    """
    inner, kwargs = unwrapped(member)
    name = type(inner).__name__
    try:
        reading = read(inner, Call({**kwargs, **(given or {})}, call.asynchronous, call.level + 1))
    except Exception as fault:  # noqa: BLE001  one member that nobody can read does not hide the others
        known_state().guard.take("langchain.weights", fault)
        return Member(name, None)
    weights = reading.weights
    if weights.source == "unknown":
        return Member(name, None)
    return Member(name, dict(weights.effective), weights.unknown)


class Members(NamedTuple):
    """`settings`: names by place, and what takes effect in each; `unknown`: what of them nobody can read."""

    settings: dict[str, Any]
    unknown: list[str]


def members_of(members: Sequence[Any], call: Call, given: Mapping[str, Any] | None = None) -> Members:
    """Names and settings of the members, of composites within composites too."""
    names = {"members": member_names([unwrapped(member)[0] for member in members])}  # as in the signals
    if call.level >= MOST_LEVELS:
        return Members(names, ["member_settings"])
    found = [member_of(member, call, given) for member in members]
    unknown: list[str] = []
    for number, member in enumerate(found, 1):
        unknown.extend(
            unknown_within(number, member.unknown) if member.settings is not None else [f"member_{number}"]
        )
    return Members({**names, "member_settings": [member.settings for member in found]}, unknown)
