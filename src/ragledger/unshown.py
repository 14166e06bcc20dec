"""For what holds a query, a text or a password: its repr names its type alone (P9).

Logs, tracebacks with local variables and debuggers show what `repr` gives, and rich what `__rich_repr__` does. A struct
has both, and both show every field.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["unshown"]

_T = TypeVar("_T")


def unshown(kind: type[_T]) -> type[_T]:
    """Of this class and of those below it nothing is shown but the name. For structs and named tuples alike."""
    shown: Any = kind
    shown.__repr__, shown.__rich_repr__ = object.__repr__, _no_field
    return kind


def _no_field(_: object) -> tuple[()]:
    return ()
