"""One setting by value, and readings made of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from ragledger.extraction import Reading, plain_number
from ragledger.weights import Weights

__all__ = ["effect_unknown", "extracted", "given", "name_of", "plain", "split"]

_LONGEST_WORD = 100


def name_of(cls: type) -> str:
    """Module and class, as extractors are registered."""
    return f"{cls.__module__}.{cls.__qualname__}"


def plain(value: Any) -> Any:
    """A number, a truth, a short word or the value of an enum; None for anything else."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (str, bool)):
        return value if isinstance(value, bool) or len(value) <= _LONGEST_WORD else None
    return plain_number(value)


def split(values: Mapping[str, Any], read: Callable[[Any], Any] = plain) -> tuple[dict[str, Any], list[str]]:
    """Those that are plain by name, and the names of those that are there and are not."""
    kept: dict[str, Any] = {}
    unread: list[str] = []
    for name, value in values.items():
        if (found := read(value)) is not None:
            kept[name] = found
        elif value is not None:
            unread.append(name)
    return kept, unread


def given(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """The named attributes that it has."""
    return {name: value for name in names if (value := getattr(thing, name, None)) is not None}


def extracted(
    extractor: str,
    configured: Mapping[str, Any],
    effective: Mapping[str, Any],
    ranking: frozenset[str],
    *,
    unknown: Iterable[str] = (),
    top_k: Any = None,
    **known: Any,
) -> Reading:
    """What was read. `known`: score_kind, signal, dense, members."""
    weights = Weights(
        configured=configured,
        effective=effective,
        source="extracted",
        unknown=tuple(dict.fromkeys(unknown)),
        ranking=ranking,
        extractor=extractor,
    )
    return Reading(weights, top_k, **known)


def effect_unknown(extractor: str, configured: Mapping[str, Any], unknown: Iterable[str] = ()) -> Reading:
    """Settings that go to a service: they are known, what it does with them is not."""
    return Reading(Weights(configured=configured, unknown=("effective", *unknown), extractor=extractor))
