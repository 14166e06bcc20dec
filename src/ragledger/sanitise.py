"""Makes values fit the columns before they are journalled, so that a refusal by the database means a bug of ours.

Every change leaves a flag in `searches.flags`. The fast path of each function is a type test and a comparison:
they run in the caller's thread, some thirty times a search.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any
from uuid import UUID

from .digests import blake2b

__all__ = ["INT4_MAX", "MAX_TEXT", "count", "identifier", "number", "text", "truth", "word"]

INT4_MAX = 2**31 - 1
MAX_TEXT = 512
_DIGEST = 16
_BAD_TEXT = "sanitised_id"


def text(value: Any, flags: set[str]) -> str | None:
    """Text that Postgres takes: no NUL, no unpaired surrogate, at most 512 characters. None stays None."""
    if type(value) is str and len(value) <= MAX_TEXT and value.isascii() and "\0" not in value:
        return value
    return None if value is None else _careful_text(value, flags)


def _careful_text(value: Any, flags: set[str]) -> str | None:
    if type(value) is not str:
        value = _as_text(value, flags)
        if value is None:
            return None
    cleaned = value.replace("\0", "\\u0000").encode("utf-8", "backslashreplace")
    found = str(cleaned.decode())
    if len(value) <= MAX_TEXT and len(found) <= MAX_TEXT:
        if found != value:
            flags.add(_BAD_TEXT)
        return found
    flags.add(_BAD_TEXT)
    # Two long ids that begin alike stay two: the digest of the whole takes the place of what is cut off.
    digest = blake2b(cleaned, digest_size=_DIGEST // 2).hexdigest()
    return f"{found[: MAX_TEXT - _DIGEST - 1]}~{digest}"


def _as_text(value: Any, flags: set[str]) -> str | None:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  a user's __str__ may raise anything; the flag says so
        flags.add("unreadable_text")
        return None


def number(value: Any, flags: set[str]) -> float | None:
    """A finite float, or None with a flag. Numpy scalars and numeric strings become floats."""
    if value is None:
        return None
    if type(value) is not float:
        try:
            value = float(value)
        except Exception:  # noqa: BLE001  a foreign __float__ may raise anything; the flag says so
            flags.add("unreadable_score")
            return None
    if math.isfinite(value):
        return value  # type: ignore[no-any-return]
    flags.add("nonfinite_score")
    return None


def count(value: Any, flags: set[str]) -> int | None:
    """A whole number from 0 to the largest int4, or None with a flag."""
    if value is None:
        return None
    if type(value) is int and 0 <= value <= INT4_MAX:
        return value
    try:
        whole = int(value)
    except Exception:  # noqa: BLE001  a foreign __int__ may raise anything; the flag says so
        flags.add("unreadable_count")
        return None
    if 0 <= whole <= INT4_MAX:
        return whole
    flags.add("count_out_of_range")
    return None


def word(value: Any, known: Collection[str], flags: set[str]) -> Any:
    """One of the known words, or None with a flag."""
    if value is None or (type(value) is str and value in known):
        return value
    flags.add("unknown_word")
    return None


def truth(value: Any, flags: set[str]) -> bool | None:
    """True, False or unknown; numpy's and 0 and 1 as well. Nothing else is: "no" is true to Python."""
    if value is None or type(value) is bool:
        return value
    try:
        if value in (True, False):
            return bool(value)
    except Exception:  # noqa: BLE001  a foreign __eq__ may raise anything; the flag says so
        pass
    flags.add("unreadable_truth")
    return None


def identifier(value: Any, flags: set[str]) -> UUID | None:
    """A plain UUID (a driver's own subclass of it would not encode), or None with a flag."""
    if value is None or type(value) is UUID:
        return value
    try:
        return UUID(str(value))
    except Exception:  # noqa: BLE001  a foreign __str__ may raise anything; the flag says so
        flags.add("unreadable_id")
        return None
