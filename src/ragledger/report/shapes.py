"""What both kinds of drawings are made of: boxes, and room for the words beside an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

__all__ = ["Box", "boxes", "frame"]

Box = tuple[float, float, float, float]
"""Left, bottom, width, height, in data coordinates."""

_LETTER, _BESIDE = 6.6, 8
_ABOVE, _BELOW = 18, 24
_CODES = (Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY)


def boxes(axes: Axes, found: Iterable[Box], colour: str, *, alpha: float = 1.0) -> None:
    """All of one colour as one shape: a patch of its own for each costs ten times as much, here and on the page."""
    vertices: list[tuple[float, float]] = []
    for left, bottom, width, height in found:
        right, top = left + width, bottom + height
        vertices += [(left, bottom), (left, top), (right, top), (right, bottom), (left, bottom)]
    if vertices:
        path = Path(vertices, list(_CODES) * (len(vertices) // len(_CODES)))
        axes.add_patch(PathPatch(path, facecolor=colour, alpha=alpha, linewidth=0))


def frame(figure: Figure, left: Sequence[str], right: Sequence[str] = ()) -> None:
    """Puts the axes where these labels have room, by their letters: fonts are the reader's, so nothing can be measured."""
    width, height = (side * figure.dpi for side in figure.get_size_inches())
    figure.subplots_adjust(
        left=_room(left) / width,
        right=1 - max(_room(right), _BESIDE) / width,
        top=1 - _ABOVE / height,
        bottom=_BELOW / height,
    )


def _room(labels: Sequence[str]) -> float:
    return max((len(label) for label in labels), default=0) * _LETTER + _BESIDE if labels else 0.0
