"""Tables of text and how numbers are written in them: what is not known reads "not measured", never 0 (promise P8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .percentile import smallest_sample
from .ranges import Range

__all__ = [
    "NOT_MEASURED",
    "Table",
    "amount",
    "count",
    "moment",
    "percent",
    "percentile",
    "rate",
    "share",
    "span",
    "spanned",
]

NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells of text. The first `words` columns read to the left, the rest are numbers and read to the right.

    `means` says in plain words what the numbers come to, `caption` how they were counted.
    """

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    means: str = ""


def count(n: int) -> str:
    return f"{n:,}"


def amount(useful: float) -> str:
    """A sum of shares, which may be a fraction."""
    return f"{useful:,.2f}".removesuffix(".00")


def share(value: float | None) -> str:
    """A share as it stands in the JSON."""
    return NOT_MEASURED if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.1%}"


def span(found: Range | None) -> str:
    """Where a share may lie; nothing where that cannot be said."""
    return "" if found is None else f"{found.low:.2f}-{found.high:.2f}"


def spanned(value: float | None, found: Range | None) -> str:
    """A share, and where it may lie."""
    return share(value) if found is None else f"{share(value)} ({span(found)})"


def rate(n: int, of: int, value: float | None, found: Range | None = None) -> str:
    """A rate over searches with its counts, and where it may lie."""
    if value is None:
        return NOT_MEASURED
    within = "" if found is None else f", {found.low:.1%}-{found.high:.1%}"
    return f"{value:.1%} ({n:,}/{of:,}{within})"


def percentile(value: float | None, of_100: int) -> str:
    """Milliseconds, or how many searches it takes."""
    return f"n < {smallest_sample(of_100)}" if value is None else f"{value:,.1f}"


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M")
