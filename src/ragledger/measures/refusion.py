"""The score that other weights would have given a hit: a weighted sum of what each signal said of it.

    linear           sum over signals of weight x score;  the score is raw, or scaled within its search:
                     min_max     (score - smallest) / (largest - smallest)
                     deviation   (score - (mean - 3 deviations)) / (6 deviations)
    reciprocal_rank  sum over signals of weight / (constant + rank in that signal's own list)

Which of them runs is read from the effective weights that are frozen in the row, never guessed: where they do not
say, or where the mode ignores its weights, there is a reason and no fusion. Smallest, largest, mean and deviation are those
of all candidates of the search (`searches.signals`). A score or rank that is not known is NaN.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from msgspec import Struct, structs

from .pairs import Floats
from .simplex import MOST_SIGNALS

__all__ = ["Fusion", "Kind", "Unreadable", "features", "fusion_of", "ranges_of"]

Kind = Literal["linear", "reciprocal_rank"]
Scale = Literal["raw", "min_max", "deviation"]

_PG = {"vector": "primary_results_weight", "lexical": "secondary_results_weight"}
_RANKS = {"reciprocal_rank", "reciprocal_rerank", "rrf", "rank"}
_CONSTANTS = ("c", "rrf_k", "k_rrf")
_USUAL_CONSTANT = 60.0  # Cormack, Clarke, Buettcher, SIGIR 2009
_NORMALISERS = ("normaliser", "normalizer", "normalisation", "normalization")
_SCALES: dict[Any, Scale] = {
    **{scale: scale for scale in get_args(Scale)},
    None: "raw",
    "none": "raw",
    "minmax": "min_max",
    "relative_score": "min_max",
    "dist_based_score": "deviation",
}


class Fusion(Struct, frozen=True, kw_only=True):
    """How a search fuses. `keys` is where the weights stand in the settings: a name each, or one list."""

    kind: Kind
    scale: Scale = "raw"
    constant: float | None = None
    names: tuple[str, ...]
    weights: tuple[float, ...]
    keys: tuple[str, ...]

    def like(self, other: Fusion) -> bool:
        """Whether its scores may stand beside the other's: all but the weights are equal."""
        return structs.replace(other, weights=self.weights, keys=self.keys) == self

    def settings(self, weights: Sequence[float]) -> dict[str, Any]:
        """The settings to change, with these weights in place of the running ones and the same sum."""
        total = sum(self.weights)
        rounded = _rounded([weight * total for weight in weights])
        return dict(zip(self.keys, rounded, strict=True)) if len(self.keys) > 1 else {self.keys[0]: rounded}


class Unreadable(Struct, frozen=True):
    """Why weights cannot be fitted to what runs."""

    reason: str


def fusion_of(effective: Mapping[str, Any], logged: Collection[str]) -> Fusion | Unreadable:
    """How the effective weights of a search say that it fuses the signals that were logged."""
    mode = effective.get("fusion", effective.get("mode"))
    listed = next((key for key in ("weights", "retriever_weights") if _are_numbers(effective.get(key))), None)
    keys: tuple[str, ...]
    if listed is not None:
        members = effective.get("members")
        names = [str(name) for name in members] if isinstance(members, (list, tuple)) else []
        keys, weights = (listed,), [float(weight) for weight in effective[listed]]
    else:
        named = _named(effective, logged)
        names, keys = list(named), tuple(named.values())
        weights = [float(effective[key]) for key in keys]
    problem = _problem(names, weights, mode)
    if problem is not None:
        return Unreadable(problem)
    read = Fusion(kind="linear", names=tuple(names), weights=tuple(weights), keys=keys)
    if isinstance(mode, str) and mode in _RANKS:
        constant = next(
            (effective[key] for key in _CONSTANTS if _is_number(effective.get(key))), _USUAL_CONSTANT
        )
        if constant < 0:
            return Unreadable("the constant of the reciprocal ranks is negative")
        return structs.replace(read, kind="reciprocal_rank", constant=float(constant))
    # `weighted_sum_ranking` scales both of its lists.
    normaliser = "min_max" if "primary_results_weight" in keys else _normaliser(effective, mode)
    if not isinstance(normaliser, (str, type(None))) or normaliser not in _SCALES:
        return Unreadable(f"the normaliser {str(normaliser)[:40]!r} cannot be redone from a row")
    return structs.replace(read, scale=_SCALES[normaliser])


def _normaliser(effective: Mapping[str, Any], mode: Any) -> Any:
    named = next((effective[key] for key in _NORMALISERS if key in effective), None)
    return mode if named is None and isinstance(mode, str) and mode in _SCALES else named


def _named(effective: Mapping[str, Any], logged: Collection[str]) -> dict[str, str]:
    """By signal, the setting that is its weight."""
    if all(_is_number(effective.get(key)) for key in _PG.values()):
        return _PG
    found = {}
    for name in sorted(logged, key=lambda name: (name != "vector", name != "lexical", name)):
        key = next((key for key in (name, f"{name}_weight") if _is_number(effective.get(key))), None)
        if key is not None:
            found[name] = key
    return found


def _problem(names: list[str], weights: list[float], mode: Any) -> str | None:
    if len(names) != len(weights):
        return "the weights do not say which signal each of them belongs to"
    if not weights:
        said = f" (mode {str(mode)[:40]})" if mode is not None else ""
        return f"no weight of a logged signal is effective{said}"
    if len(weights) == 1:
        return f"only one signal has a weight: {names[0]}"
    if len(weights) > MOST_SIGNALS:
        return f"{len(weights)} signals have a weight, and at most {MOST_SIGNALS} are searched"
    if min(weights) < 0 or sum(weights) <= 0:
        return "a weight is negative, or all of them are 0"
    return None


def ranges_of(signals: Mapping[str, Any] | None, fusion: Fusion) -> list[tuple[float, float]]:
    """Per signal what is taken off a score of this search and what it is divided by; (0, 1) for raw scores."""
    if fusion.scale == "raw" or fusion.kind != "linear":
        return [(0.0, 1.0)] * len(fusion.names)
    return [_range((signals or {}).get(name) or {}, fusion.scale) for name in fusion.names]


def _range(known: Mapping[str, Any], scale: Scale) -> tuple[float, float]:
    first, second = ("min", "max") if scale == "min_max" else ("mean", "deviation")
    low, high = known.get(first), known.get(second)
    if low is None or high is None:
        return np.nan, np.nan
    if scale == "deviation":
        low, high = low - 3 * high, low + 3 * high
    return float(low), float(high - low) or 1.0  # all equal: they are the same after scaling, too


def features(said: Floats, ranges: Floats, fusion: Fusion) -> Floats:
    """What each signal adds to the fused score per unit of its weight; `ranges` is (hits, signals, 2)."""
    if fusion.kind == "reciprocal_rank":
        assert fusion.constant is not None
        return 1.0 / (fusion.constant + said)
    return (said - ranges[:, :, 0]) / ranges[:, :, 1]


def _rounded(weights: Sequence[float]) -> list[float]:
    """Three decimals, more where a weight is small because its signal's scores are large."""
    decimals = 3 if min((w for w in weights if w > 0), default=1.0) >= 0.02 else 6
    return [round(float(weight), decimals) for weight in weights]


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(_is_number(item) for item in value)
