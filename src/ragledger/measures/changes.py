"""What is different between two sides: settings by name, and how far their mixes are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

__all__ = ["Change", "apart", "changes"]


class Change(Struct, frozen=True, kw_only=True):
    """One setting, with null where a side does not have it."""

    name: str
    a: Any
    b: Any


def changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Change, ...]:
    """The settings that differ, by name; those inside of others as `members.lexical.weight`."""
    of_a, of_b = dict(_flat(a)), dict(_flat(b))
    return tuple(
        Change(name=name, a=of_a.get(name), b=of_b.get(name))
        for name in sorted(of_a.keys() | of_b.keys())
        if of_a.get(name) != of_b.get(name)
    )


def apart(a: Mapping[Any, int], b: Mapping[Any, int]) -> float | None:
    """The part of B that would have to be of another kind for its mix to be A's (total variation); None where one is empty."""
    all_a, all_b = sum(a.values()), sum(b.values())
    if not all_a or not all_b:
        return None
    return sum(abs(a.get(kind, 0) / all_a - b.get(kind, 0) / all_b) for kind in a.keys() | b.keys()) / 2


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
