"""The retrievers inside of a retriever: found through bindings, and what each of them gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ragledger.extraction import Call, read
from ragledger_langchain.installed import known_state

__all__ = ["Member", "member_of", "unwrapped"]


class Member(NamedTuple):
    """A retriever inside of another: its class, and what takes effect in it; None where that is not known."""

    name: str
    settings: dict[str, Any] | None
    dense: bool | None


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
    try:
        reading = read(inner, Call({**kwargs, **(given or {})}, call.asynchronous))
    except Exception as fault:  # noqa: BLE001  one member that nobody can read does not hide the others
        known_state().guard.take("langchain.weights", fault)
        return Member(type(inner).__name__, None, None)
    if reading.weights.source == "unknown":
        return Member(type(inner).__name__, None, reading.dense)
    # Two levels of lists and mappings is what a row of weights holds: a composite in a composite says its own.
    settings = {name: value for name, value in reading.weights.effective.items() if name not in _NESTED}
    return Member(type(inner).__name__, settings, reading.dense)


_NESTED = frozenset({"member_settings", "compressor"})
