"""What a class of either framework says of a reranker: whether it is one, and the name of its model. Pure."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

__all__ = ["is_reranker", "model_name"]

_LONGEST_WORD = 100
_WORD = re.compile(r"[\w.:@+-]+")
_MODEL = re.compile(r"\w[\w.+-]*/[\w.:@+-]+")
"""As a hub names it: of an organisation."""
_REORDERING = frozenset(
    {
        "EmbeddingRecencyPostprocessor",
        "FixedRecencyPostprocessor",
        "LongContextReorder",
        "TimeWeightedPostprocessor",
    }
)


def is_reranker(kind: type) -> bool:
    """Whether it is known to rescore or to reorder: by its name, or that of a class that it is derived from."""
    names = [base.__name__ for base in kind.__mro__]
    return any("rerank" in name.lower() or name in _REORDERING for name in names)


def model_name(value: Any) -> str | None:
    """One identifier: the last segment of a path, which may name a machine or a customer; None for anything else."""
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, str) or len(value) > _LONGEST_WORD:
        return None
    if _MODEL.fullmatch(value):
        return str(value)
    value = re.split(r"[/\\]", value.rstrip("/\\"))[-1]
    return str(value) if _WORD.fullmatch(value) else None
