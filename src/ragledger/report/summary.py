"""The few numbers that people ask for first, each with what it rests on, out of the panels below them."""

from __future__ import annotations

from typing import Any

from ragledger.panels.panel import NOT_MEASURED

from .markup import Html, tag
from .numbers import n_of, shown
from .picture import Picture
from .tables import interval

__all__ = ["summary"]

_Row = dict[str, Any]


def summary(picture: Picture) -> Html:
    """Four of them."""
    tiles = (
        _searches(picture),
        _share(picture, "with a hit", "Hit rate"),
        _precision(picture),
        _latency(picture),
    )
    return tag(
        "section",
        tag("h2", "In short"),
        tag("dl", *(_tile(*tile) for tile in tiles), class_="tiles"),
        class_="short",
        aria_label="In short",
    )


def _tile(name: str, number: str, beside: str) -> Html:
    unknown = "unknown" if number == NOT_MEASURED else None
    return tag("div", tag("dt", name), tag("dd", number, class_=unknown), tag("dd", beside, class_="beside"))


def _searches(picture: Picture) -> tuple[str, str, str]:
    errors = _share(picture, "error", "")
    return "Searches", f"{picture.searches:,}", f"{errors[1]} ended in an error; {errors[2]}"


def _share(picture: Picture, words: str, name: str) -> tuple[str, str, str]:
    row = next(
        (row for row in _rows(picture, "overview", "shares") if words in row["share of searches"]), None
    )
    if row is None or row["share"] is None:
        return name, NOT_MEASURED, "no search tells"
    return name, shown(row["share"], "share"), f"{interval(row['low'], row['high'])}, {n_of(row['n'])}"


def _precision(picture: Picture) -> tuple[str, str, str]:
    k, name = picture.choice.k, f"Precision at {picture.choice.k}"
    row = next((row for row in _rows(picture, "relevance", "by_k") if row["k"] == k), None)
    if row is None or row["precision"] is None:
        return name, NOT_MEASURED, f"no {picture.voter} judged a hit in this window"
    ends = "interval not measured" if row["low"] is None else interval(row["low"], row["high"])
    return (
        name,
        shown(row["precision"], "share"),
        f"{ends}, {n_of(row['judged hits'])} hits judged by {picture.voter}, {shown(row['judged share'], 'share')} of "
        f"what was shown; {_epochs(picture)}",
    )


def _latency(picture: Picture) -> tuple[str, str, str]:
    rows = _rows(picture, "overview", "latency_now")
    if not rows or rows[0]["p50"] is None:
        return "Latency, p95", NOT_MEASURED, "no search was timed"
    row = rows[0]
    return (
        "Latency, p95",
        shown(row["p95"], "ms"),
        f"half of them within {shown(row['p50'], 'ms')}, {n_of(row['n'])}",
    )


def _epochs(picture: Picture) -> str:
    rows = _rows(picture, "overview", "totals")
    epochs = rows[0]["epochs"] if rows else None
    if epochs is None:
        return "epochs not known"
    return "one epoch" if epochs == 1 else f"across {epochs:,.0f} epochs"


def _rows(picture: Picture, view: str, query: str) -> list[_Row]:
    return [
        dict(zip((column.name for column in panel.panel.columns), row, strict=True))
        for one in picture.views
        if one.dashboard.name == view
        for panel in one.panels
        if panel.panel.query == query
        for row in panel.rows
    ]
