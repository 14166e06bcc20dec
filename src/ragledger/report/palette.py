"""The colours of the page, by day and by night, as CSS variables: one hue for one thing, the same as on the dashboards."""

from __future__ import annotations

from ragledger.panels.colours import COLOURS

__all__ = ["GRID", "GROUND", "INK", "QUIET", "STAND_INS", "hex_of", "style_sheet", "variable"]

# What is drawn with these stand-ins is recoloured through a variable of the page (`vector.py`).
INK, QUIET, GRID, GROUND = "#010101", "#020202", "#030303", "#040404"
STAND_INS = {INK: "var(--ink)", QUIET: "var(--quiet)", GRID: "var(--line)", GROUND: "var(--card)"}

_DAY = {
    "ground": "#f6f6f4",
    "card": "#ffffff",
    "ink": "#1b1d20",
    "quiet": "#5c6269",
    "line": "#e2e3e1",
    "accent": "#0072b2",
    "shade": "#f1f2f0",
}
_NIGHT = {
    "ground": "#111316",
    "card": "#191c20",
    "ink": "#e9ebee",
    "quiet": "#a2a9b1",
    "line": "#2f343a",
    "accent": "#58b4ee",
    "shade": "#22262b",
}
# The hues of the dashboards that are too dark, or too loud, on dark ground.
_BY_NIGHT = {
    "#0072b2": "#3f9be0",
    "#56b4e9": "#93cff2",
    "#009e73": "#2dbb90",
    "#d55e00": "#ee7733",
    "#cc79a7": "#dd92bb",
    "#8c8c8c": "#8f969d",
    "#9467bd": "#b08ad6",
}


def hex_of(colour: str | None) -> str:
    """The colour of a name in `panels/colours.py`, to draw with; None: that of what has none of its own."""
    return COLOURS[colour or "neutral"].lower()


def variable(colour: str | None) -> str:
    """The same, as CSS."""
    return f"var(--{_name(hex_of(colour))})"


def style_sheet() -> str:
    """The variables: as the system says, unless the reader chose on the page."""
    hues = sorted({value.lower() for value in COLOURS.values()})
    day = "".join(f"--{name}:{value};" for name, value in _DAY.items())
    day += "".join(f"--{_name(hue)}:{hue};" for hue in hues) + "color-scheme:light;"
    night = "".join(f"--{name}:{value};" for name, value in _NIGHT.items())
    night += "".join(f"--{_name(hue)}:{_BY_NIGHT.get(hue, hue)};" for hue in hues) + "color-scheme:dark;"
    return (
        f":root{{{day}}}\n@media (prefers-color-scheme:dark){{:root{{{night}}}}}\n"
        f":root:has(#light:checked){{{day}}}\n:root:has(#dark:checked){{{night}}}\n"
        f"@media print{{:root,:root:has(#dark:checked){{{day}}}}}\n"
    )


def _name(hue: str) -> str:
    return f"hue-{hue[1:]}"
