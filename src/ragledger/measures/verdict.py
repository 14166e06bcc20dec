"""What a difference comes to, in plain words: interval first, and never "significant" alone."""

from __future__ import annotations

from msgspec import Struct

from ragledger.model import ActorKind

from .comparison_report import AtK, PairedDifference, UnpairedDifference, Verdict

__all__ = ["ALPHA", "ENOUGH", "ENOUGH_ACTORS", "ONE_VOTER", "About", "points", "verdict"]

ALPHA = 0.05
"""A difference that chance makes at most this often, and whose interval leaves zero out, is called one."""

ENOUGH = 30
"""Searches with votes (or questions) that each side needs before it is tested at all."""


ENOUGH_ACTORS = 5
"""Voters that each side needs: fewer tell of themselves, not of how voters differ."""


ONE_VOTER = "one voter's opinion: no interval"
"""Of a difference where one voter gave all votes of a side."""


class About(Struct, frozen=True):
    """What a verdict speaks of."""

    voter: ActorKind
    k: int
    headline: str


def verdict(at: AtK, about: About) -> Verdict:
    """The verdict on one k: better or worse when the interval lies on one side of zero and chance seldom does as much."""
    for name, side in (("A", at.a), ("B", at.b)):
        if not side.judged:
            return Verdict(
                word="not measured",
                text=f"not measured: no {about.voter} vote within the first {about.k} of {name}",
            )
    found: PairedDifference | UnpairedDifference | None = (
        at.paired if about.headline == "paired" else at.unpaired
    )
    if found is None:
        return Verdict(
            word="not measured",
            text=f"not measured: no surface has {about.voter} votes within the first {about.k} on both sides",
        )
    if missing := _missing(at, about):
        return Verdict(word="too few", text=f"too few to test: {missing}{_so_far(found)}")
    if few := _few(at, found):
        return Verdict(word="cannot tell", text=f"cannot tell: {few}{_so_far(found)}")
    return _of(found, _where(at, found, about))


def points(share: float, *, sign: bool = False) -> str:
    """A difference of shares in percentage points."""
    text = f"{100 * share:+.1f}" if sign else f"{100 * share:.1f}"
    return "0.0" if text in {"-0.0", "+0.0"} else text


def _of(found: PairedDifference | UnpairedDifference, where: str) -> Verdict:
    if found.low is None or found.high is None or found.p is None:
        return Verdict(
            word="cannot tell",
            text=f"cannot tell: too few searches, or a single voter, on each surface: no interval {where}",
        )
    interval = f"{points(found.low, sign=True)} to {points(found.high, sign=True)} points"
    if found.low > 0 and found.p <= ALPHA:
        size = f"{points(found.value)} points ({points(found.low)} to {points(found.high)})"
        return Verdict(word="better", text=f"B is better by {size} {where}")
    if found.high < 0 and found.p <= ALPHA:
        size = f"{points(-found.value)} points ({points(-found.high)} to {points(-found.low)})"
        return Verdict(word="worse", text=f"B is worse by {size} {where}")
    if found.low <= 0 <= found.high:
        return Verdict(
            word="cannot tell",
            text=f"cannot tell: the interval ({interval}) holds both worse and better {where}",
        )
    side = "above" if found.low > 0 else "below"
    return Verdict(
        word="cannot tell",
        text=f"cannot tell: the interval ({interval}) lies {side} zero, but chance alone does as much in "
        f"{100 * found.p:.1f} % of shuffles {where}",
    )


def _where(at: AtK, found: PairedDifference | UnpairedDifference, about: About) -> str:
    if isinstance(found, PairedDifference):
        over = f"{found.questions:,} questions asked on both sides"
    else:
        over = f"{at.a.searches + at.b.searches:,} searches"
    return f"in the first {about.k}, {about.voter} votes, {over}"


def _missing(at: AtK, about: About) -> str:
    return " and ".join(
        f"{name} has {side.searches:,} searches with {about.voter} votes in the first {about.k} and needs {ENOUGH - side.searches:,} more"
        for name, side in (("A", at.a), ("B", at.b))
        if side.searches < ENOUGH
    )


def _few(at: AtK, found: PairedDifference | UnpairedDifference) -> str:
    if isinstance(found, PairedDifference) and found.actors is not None and found.actors < ENOUGH_ACTORS:
        return f"only {found.actors:,} voter{'s' * (found.actors != 1)} on these questions on a side ({ENOUGH_ACTORS} are needed)"
    few = " and ".join(
        f"only {side.actors:,} voter{'s' * (side.actors != 1)} on {name} ({ENOUGH_ACTORS} are needed)"
        for name, side in (("A", at.a), ("B", at.b))
        if side.actors < ENOUGH_ACTORS
    )
    if few or found.actors is None or found.actors >= ENOUGH_ACTORS:
        return few
    return (
        f"only {found.actors:,} voter{'s' * (found.actors != 1)} of a side on the surfaces that both have "
        f"({ENOUGH_ACTORS} are needed)"
    )


def _so_far(found: PairedDifference | UnpairedDifference) -> str:
    if found.low is None or found.high is None:
        alone = f", {ONE_VOTER}" if found.actors == 1 else ""
        return f"; so far {points(found.value, sign=True)} points{alone}"
    interval = f"{points(found.low, sign=True)} to {points(found.high, sign=True)}"
    return f"; so far {points(found.value, sign=True)} points ({interval})"
