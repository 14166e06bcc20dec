"""What is missing for a calibration, and what a reader of its numbers must know, in plain words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ragledger.model import ActorKind

from .calibration import Calibration, Used
from .refusion import Fusion
from .threshold import FEWEST_USEFUL, Cut

__all__ = [
    "MOST_MISSING",
    "MOST_UNKEYED",
    "current_notes",
    "missing",
    "notes",
    "unscored",
    "untold",
    "untuned",
]

MOST_MISSING = 0.5
"""Share of pairs without complete signals above which the rest is too small a selection."""
MOST_UNKEYED = 0.1
"""Share of searches without the key of their question above which no change is recommended."""
_WORTH_SAYING = 0.1


def missing(counted: Calibration) -> tuple[str, ...]:
    """Why nothing can be said of the weights; empty: something can."""
    used, pairs, minimum = counted.used, counted.pairs, counted.minimum
    assert used is not None
    assert pairs is not None
    wanted = (
        (used.pairs, minimum.pairs, f"pairs of a useful and a not useful hit judged by a {counted.voter}"),
        (used.searches, minimum.searches, "searches with such a pair"),
        (used.actors, minimum.actors, f"actors of kind {counted.voter}"),
        (used.questions, 10, "questions"),
    )
    lines = [f"{of:,} {what} are needed, there are {n:,}" for n, of, what in wanted if n < of]
    if pairs.found and pairs.missing_leg / pairs.found > MOST_MISSING:
        lines.append(
            f"in {pairs.missing_leg:,} of {pairs.found:,} pairs a hit was not scored by every signal: let the retriever "
            "score every signal for every candidate (docs/calibrate.md)"
        )
    return tuple(lines)


def unscored(fusion: Fusion, scored: Collection[str]) -> tuple[str, ...]:
    """A signal that has a weight now and no score in any search that was voted on."""
    new = [name for name in fusion.names if name not in scored]
    return (f"no search that was voted on has a score of {', '.join(new)}, which weighs now",) if new else ()


def current_notes(counted: Calibration, elsewhere: Sequence[str]) -> tuple[str, ...]:
    """What a gain over the weights that run now rests on, where that is not votes on what they showed."""
    lines = []
    if counted.searches and not counted.searches_of_epoch:
        lines.append(
            f"Nobody has voted under the weights that run now (epoch {counted.epoch}): the gain over them is computed from the "
            "scores of what other weights showed."
        )
    if elsewhere:
        lines.append(
            f"WARNING: other weights run for {', '.join(elsewhere)}; the gain is over those of the newest search. Narrow the "
            "window (--project, --corpus)."
        )
    return tuple(lines)


def untold(used: Used) -> tuple[str, ...]:
    """What a change cannot be recommended without; empty: nothing."""
    if used.unkeyed <= MOST_UNKEYED * used.searches:
        return ()
    return (
        f"{used.unkeyed:,} of {used.searches:,} searches have no key of their question, so that questions which recur "
        "cannot be told: switch query_keys on (RAGLEDGER_QUERY_KEYS=1)",
    )


def notes(counted: Calibration, judged: Mapping[ActorKind, int]) -> tuple[str, ...]:
    """What qualifies the numbers."""
    used, pairs = counted.used, counted.pairs
    assert used is not None
    assert pairs is not None
    lines = []
    others = [f"{kind} ({hits:,} hits)" for kind, hits in sorted(judged.items()) if kind != counted.voter]
    if others:
        lines.append(f"Votes of {', '.join(others)} are not pooled with those of kind {counted.voter}.")
    if used.unkeyed:
        lines.append(
            f"{used.unkeyed:,} of {used.searches:,} searches have no key of their question: those that found the same with the "
            "same scores are taken for one question. Where that misses one, intervals are too narrow: set RAGLEDGER_QUERY_KEYS."
        )
    if pairs.imputed:
        lines.append(
            f"WARNING: in {pairs.imputed:,} of {pairs.found:,} pairs a signal that was not scored counts as 0, as "
            "asked for. That draws the answer towards the weights that ran."
        )
    elif pairs.found and pairs.missing_leg / pairs.found > _WORTH_SAYING:
        lines.append(
            f"WARNING: {pairs.missing_leg / pairs.found:.0%} of the pairs lack a signal and were left out; what is left may "
            "not be like them."
        )
    if len(counted.epochs) > 1:
        lines.append(
            f"Scores of {len(counted.epochs)} epochs are pooled: same index and embedding model, other weights or limits."
        )
    if counted.index_version is None and counted.embedding_model is None:
        lines.append(
            "Neither index version nor embedding model was said: they are taken to be the same throughout."
        )
    return tuple(lines)


def untuned(threshold: Cut | None, running: float | None, *, change: bool) -> tuple[str, ...]:
    """Why there is no threshold."""
    lines = []
    if threshold is None and running is not None:
        lines.append(
            f"The threshold of {running:g} was not tuned: that needs raw scores in a weighted sum, searches that have every "
            f"candidate with every signal, and {FEWEST_USEFUL} useful hits."
        )
        if change:
            lines.append(
                "WARNING: it is on the scale of the running weights; other weights need another one."
            )
    return tuple(lines)
