"""The small change of extractors: modes as words, settings that are given, a reading in one line."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ragledger.extraction import Reading
from ragledger.weights import Weights

__all__ = ["given", "mode_of", "read_as", "without"]


def mode_of(value: Any) -> str:
    """The word of a mode, whether it was given as text or as an enum."""
    return str(value.value if isinstance(value, Enum) else value)


def given(**values: Any) -> dict[str, Any]:
    """Those that were set."""
    return {name: value for name, value in values.items() if value is not None}


def without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """All but these."""
    return {name: value for name, value in values.items() if name not in names}


def read_as(
    extractor: str,
    configured: dict[str, Any],
    effective: dict[str, Any],
    *,
    ranking: frozenset[str] = frozenset(),
    unknown: tuple[str, ...] = (),
    **known: Any,
) -> Reading:
    """What was extracted, under the reader's name and version; `known` are the other fields of a reading."""
    return Reading(
        Weights(
            configured=configured,
            effective=effective,
            source="extracted",
            unknown=unknown,
            ranking=ranking,
            extractor=f"llama_index.{extractor}",
        ),
        **known,
    )
