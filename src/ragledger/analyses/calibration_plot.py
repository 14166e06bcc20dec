"""The objective of a calibration as a picture: how many pairs each weight orders right, with its band."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragledger.errors import ConfigError
from ragledger.measures.calibration import Calibration

__all__ = ["plot"]

_BLUE, _GREY, _RED = "#1f5fa8", "#8a8a8a", "#b03a2e"


def plot(found: Calibration, path: Path) -> None:
    """Writes the picture; two signals need one curve, more of them one each.

    Raises:
        ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        # Not pyplot: it keeps state, and looks for a display.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("--plot needs matplotlib: pip install 'ragledger[analysis]'") from None
    profiles = found.profiles if len(found.profiles) > 2 else found.profiles[:1]
    figure = Figure(figsize=(6.4 * len(profiles), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for number, axes in enumerate(figure.subplots(1, len(profiles), squeeze=False)[0]):
        _draw(axes, found, number)
    try:
        # Without a date in it, so that equal votes give an equal file.
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as exc:
        raise ConfigError(f"--plot: {path} cannot be written ({type(exc).__name__})") from None


def _draw(axes: Any, found: Calibration, number: int) -> None:
    profile, used = found.profiles[number], found.used
    assert used is not None
    assert found.flat is not None
    assert found.running is not None
    assert found.estimate is not None
    weights = [point.weight for point in profile.points]
    band = [[getattr(point, end) for point in profile.points] for end in ("low", "high")]
    flat = found.flat[profile.signal]
    axes.axvspan(flat.low, flat.high, color=_GREY, alpha=0.18, label="flat", linewidth=0)
    axes.fill_between(weights, *band, color=_BLUE, alpha=0.2, label="95 % of resamples", linewidth=0)
    axes.plot(weights, [point.ordered for point in profile.points], color=_BLUE, label="pairs ordered right")
    axes.axvline(found.running[profile.signal], color=_RED, linestyle="--", label="running")
    axes.axvline(found.estimate[profile.signal], color=_BLUE, linestyle=":", label="estimate")
    axes.set_xlabel(f"weight of {profile.signal}")
    axes.set_ylabel("share of pairs")
    axes.set_title(f"{found.verdict}: {used.pairs:,} pairs, {used.questions:,} questions", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
