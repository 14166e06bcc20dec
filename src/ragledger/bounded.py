"""What a process remembers has an end: dicts that forget what they have known longest."""

from __future__ import annotations

from typing import Any

__all__ = ["forget_oldest"]


def forget_oldest(kept: dict[Any, Any]) -> None:
    """Drops an eighth, the oldest first; for a dict that has passed its limit. Safe beside other threads."""
    # list() is one step under the GIL where next(iter()) is two.
    for oldest in list(kept)[: len(kept) // 8]:
        kept.pop(oldest, None)
