"""Whether two JSON values are the same, up to the last digits of their numbers."""

from __future__ import annotations

import math
from typing import Any


def differences(found: Any, expected: Any, path: str = "") -> list[str]:
    """Where a measurement is not what was expected; numbers may differ in the ninth digit. What is not expected is not compared."""
    if isinstance(expected, dict) and isinstance(found, dict):
        missing = [f"{path}/{name} is missing" for name in expected if name not in found]
        inner = [
            differences(found[name], value, f"{path}/{name}")
            for name, value in expected.items()
            if name in found
        ]
        return missing + [one for some in inner for one in some]
    if isinstance(expected, (list, tuple)) and isinstance(found, list):
        if len(expected) != len(found):
            return [f"{path} has {len(found)} items, not {len(expected)}"]
        inner = [
            differences(f, e, f"{path}/{n}") for n, (f, e) in enumerate(zip(found, expected, strict=True))
        ]
        return [one for some in inner for one in some]
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return (
            []
            if math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
            else [f"{path}: {found} != {expected}"]
        )
    return [] if found == expected else [f"{path}: {found!r} != {expected!r}"]
