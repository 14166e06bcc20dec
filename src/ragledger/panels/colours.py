"""One colour for one thing, on every panel. The hues are those of Okabe & Ito (2008), told apart by colour-blind people,
readable on light and on dark ground, and a violet."""

from __future__ import annotations

__all__ = ["COLOURS"]

_BLUE, _SKY, _GREEN, _YELLOW = "#0072B2", "#56B4E9", "#009E73", "#E0B000"
_ORANGE, _RED, _PINK, _GREY, _VIOLET = "#E69F00", "#D55E00", "#CC79A7", "#8C8C8C", "#9467BD"

COLOURS: dict[str, str] = {
    "searches": _BLUE,
    "ok": _GREEN,
    "empty": _YELLOW,
    "untold": _SKY,
    "error": _RED,
    "cancelled": _GREY,
    "skipped": _VIOLET,
    "degraded": _PINK,
    "candidates": _SKY,
    "admitted": _BLUE,
    "shown": _SKY,
    "accessed": _YELLOW,
    "judged": _BLUE,
    "useful": _GREEN,
    "not useful": _RED,
    "never": _GREY,
    "interval": _GREY,
    "low": _SKY,
    "middle": _BLUE,
    "high": _PINK,
    "waiting": _ORANGE,
    "lost": _RED,
    "good": _GREEN,
    "notice": _ORANGE,
    "bad": _RED,
    "neutral": _GREY,
}
"""What a column is about, and how it is drawn."""
