"""How a value reads: the same everywhere on the page. What is not known reads "not measured", never 0 (P8)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from ragledger.panels.panel import NOT_MEASURED, Unit

from .markup import NBSP

__all__ = ["NOT_KNOWN", "duration", "moment", "n_of", "shown", "uncounted"]

NOT_KNOWN = "not known"
"""A word or a moment that nobody told: there is nothing to measure."""

_SPANS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))
_BYTES = ("bytes", "KiB", "MiB", "GiB", "TiB")


def shown(value: Any, unit: Unit) -> str:
    """A value of a panel's column, as text."""
    if value is None:
        return NOT_KNOWN if unit in {"text", "time"} else NOT_MEASURED
    if unit == "text":
        return str(value)
    if unit == "time":
        return moment(value)
    return _number(float(value), unit)


def n_of(count: float) -> str:
    """How many something rests on, never broken at the end of a line."""
    return f"n{NBSP}={NBSP}{count:,.0f}"


def uncounted(records: int, minutes: int, days: int) -> str:
    """What the collector has still to do, as far as there is any; empty when all is counted."""
    parts = (
        (records, "records that arrived"),
        (minutes, "minutes of searches"),
        (days, "days of documents"),
    )
    return ", ".join(f"{words}: {count:,}" for count, words in parts if count)


def moment(at: datetime) -> str:
    """To the minute, in UTC; the page says once that it is."""
    return at.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M")


def duration(seconds: float) -> str:
    """In the two largest units that it has."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    number = next(place for place, (length, _) in enumerate(_SPANS) if seconds >= length)
    length, word = _SPANS[number]
    whole, rest = divmod(seconds, length)
    if number + 1 == len(_SPANS):
        return f"{whole:.0f} {word}"
    finer, finer_word = _SPANS[number + 1]
    return f"{whole:.0f} {word}" + (f" {rest // finer:.0f} {finer_word}" if rest >= finer else "")


def _number(value: float, unit: Unit) -> str:
    if unit == "share":
        return f"{value:.1%}"
    if unit == "seconds":
        return duration(max(value, 0.0))
    if unit == "ms":
        return _milliseconds(value)
    if unit == "bytes":
        return _size(value)
    if unit == "score":
        return f"{value:.3f}"
    return f"{value:,.1f}" if unit == "number" else f"{value:,.2f}".rstrip("0").rstrip(".")


def _milliseconds(value: float) -> str:
    if 0 < value < 0.1:
        return "< 0.1 ms"
    return f"{value / 1000:,.1f} s" if value >= 10_000 else f"{value:,.{1 if value < 100 else 0}f} ms"


def _size(value: float) -> str:
    place = 0
    while value >= 1024 and place + 1 < len(_BYTES):
        value, place = value / 1024, place + 1
    return f"{value:,.{1 if place else 0}f} {_BYTES[place]}"
