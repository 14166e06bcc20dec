"""The values of a calibration: what the JSON, the tables and the plot of `ragledger calibrate` all show.

The JSON is stable: its names are the field names below, `schema` changes when a name or a meaning does, and what is not
known is null, never 0 (promise P8).

    verdict    recommend, keep, collect or refused (measures/decision.py); `missing`: why it was refused,
               or what a change cannot be recommended without
    epoch      whose weights run now: of the newest search of the window that ended well with nothing missing, voted on or not
    fusion     what runs, read from the frozen weights of that epoch (measures/refusion.py)
    running, estimate    a weight per signal; their sum is 1
    flat       per signal, smallest and largest weight that the votes cannot tell from the best
    spread     per signal, the middle 95 % and the standard deviation of the estimate on resampled questions
    gain       cross-fitted share of pairs ordered right beyond the running weights, with its interval
    ordered    share of pairs ordered right by the running weights and by the estimate; the second was fitted on the same
               votes and flatters: act on `gain`
    used       searches, hits, pairs, questions, votes and actors that the estimate rests on
    searches   the voted ones: voted = used.searches + the sum of `excluded`, each search counted for its first reason;
               `searches_of_epoch` of them ran under the weights that run now
    pairs      of a useful and a not useful hit of a search: found = used.pairs + missing_leg
    threshold, top_k     null with a reason in `notes` where they could not be tuned
    settings   what to change, ready to paste; null when nothing is recommended
    profiles   per signal the objective along its weight, the others in the proportion of the estimate
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ragledger.model import ActorKind, Outcome

from .decision import Needed, Verdict
from .depth import Depth
from .refusion import Fusion
from .report import Window
from .threshold import Cut

__all__ = [
    "Between",
    "Calibration",
    "Excluded",
    "Minimum",
    "PairCounts",
    "Profile",
    "ProfilePoint",
    "Share",
    "Spreading",
    "Used",
]


class Minimum(Struct, frozen=True, kw_only=True):
    """Below any of these nothing is said of weights."""

    pairs: int
    searches: int
    actors: int


class Between(Struct, frozen=True, kw_only=True):
    """The ends of an interval of weights."""

    low: float
    high: float


class Spreading(Between, frozen=True, kw_only=True):
    """Of the estimate of one weight on resampled questions."""

    deviation: float


class Share(Struct, frozen=True, kw_only=True):
    """A share of pairs, or a difference of such shares, with its 95 % interval."""

    value: float
    low: float | None
    high: float | None


class Excluded(Struct, frozen=True, kw_only=True):
    """Voted searches that were not used, by the first reason that holds, from the top."""

    other_index: int = 0
    degraded: int = 0
    not_effective: int = 0
    other_fusion: int = 0
    several_queries: int = 0
    capped: int = 0
    single_signal: int = 0
    one_sided: int = 0
    missing_leg: int = 0


class PairCounts(Struct, frozen=True):
    """Pairs in which a hit was not scored by every signal are missing a leg and left out, or `imputed` on request.

    `split_hits` are judged hits that are part of no pair because their voters were divided evenly.
    """

    found: int
    missing_leg: int
    imputed: int
    split_hits: int


class Used(Struct, frozen=True, kw_only=True):
    """What the estimate rests on. `unkeyed`: searches without the key of their question;
    those that found the same are taken for one question."""

    searches: int
    hits: int
    pairs: int
    questions: int
    votes: int
    actors: int
    unkeyed: int


class ProfilePoint(Struct, frozen=True, kw_only=True):
    """The objective where the signal has this weight, with the middle 95 % of it on resampled questions."""

    weight: float
    ordered: float
    low: float
    high: float


class Profile(Struct, frozen=True, kw_only=True):
    """How the objective changes with the weight of one signal."""

    signal: str
    points: tuple[ProfilePoint, ...]


class Calibration(Struct, frozen=True, kw_only=True):
    """Everything that `ragledger calibrate` says of a window."""

    schema: int = 2
    verdict: Verdict
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    window: Window
    useful_from: Outcome
    voter: ActorKind
    seed: int
    minimum: Minimum
    epoch: str
    epochs: tuple[str, ...] = ()
    index_version: str | None
    embedding_model: str | None
    fusion: Fusion | None = None
    searches: int
    searches_of_epoch: int
    excluded: Excluded | None = None
    pairs: PairCounts | None = None
    used: Used | None = None
    running: Mapping[str, float] | None = None
    estimate: Mapping[str, float] | None = None
    flat: Mapping[str, Between] | None = None
    spread: Mapping[str, Spreading] | None = None
    gain: Share | None = None
    ordered: Mapping[str, Share] | None = None
    needed: Needed | None = None
    threshold: Cut | None = None
    top_k: Depth | None = None
    settings: Mapping[str, Any] | None = None
    profiles: tuple[Profile, ...] = ()
