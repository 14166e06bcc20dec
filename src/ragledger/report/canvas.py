"""A drawing with matplotlib that is the same on every machine, whatever its own settings and fonts say.

Needs the extra `analysis`. One unit of a drawing is one pixel of the page at its natural size.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from typing import Any, cast

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from .palette import GRID, QUIET
from .vector import Drawing, inlined

__all__ = ["draw", "within"]

_DPI = 72
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ragledger",
    "font.family": ["DejaVu Sans"],
    "font.size": 11,
    "text.parse_math": False,  # names come from the application, and one with two dollars is no formula
    "text.color": QUIET,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 1,
    "xtick.color": GRID,
    "xtick.labelcolor": QUIET,
    "ytick.color": GRID,
    "ytick.labelcolor": QUIET,
    "ytick.major.size": 0,
    "xtick.major.size": 4,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "timezone": "UTC",
    "path.simplify": False,
}


def draw(paint: Callable[[Figure], None], width: int, height: int, name: str) -> Drawing:
    """What `paint` puts on a figure; `name` keeps its inner references apart from those of other drawings."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of its font cache
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        cast("Any", mpl.rcParams).update(_SETTINGS)
        # The page's own fonts draw the text: what DejaVu lacks is only measured a little wrong.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        FigureCanvasSVG(figure)
        paint(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return inlined(text.getvalue(), name)


def within(text: str, length: int) -> str:
    """Cut to a length that there is room for."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
