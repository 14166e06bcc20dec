"""A calibration as lines and tables of text, in plain words.

Every number stands with what it rests on, and what is not known reads "not measured", never 0 (promises P8, P12).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from .calibration import Calibration, Share
from .decision import WORTHWHILE
from .tables import NOT_MEASURED, Table

__all__ = ["heading", "snippet", "tables"]

_EXCLUDED = {
    "other_index": "another index version or embedding model than now",
    "degraded": "degraded",
    "not_effective": "no weights of the signals were in effect",
    "other_fusion": "fused in another way than now",
    "several_queries": "asked several queries",
    "capped": "more candidates than are stored, so that ranks cannot be told",
    "single_signal": "only one of the signals was scored",
    "one_sided": "no useful and not useful hit side by side",
    "missing_leg": "no pair with every signal scored",
}


def heading(found: Calibration) -> tuple[str, ...]:
    """The answer, then what it is about and what qualifies it."""
    fusion = found.fusion
    how = (
        f"fusion {fusion.kind.replace('_', ' ')}"
        + (
            f" of {fusion.scale.replace('_', '-')} scores"
            if fusion.kind == "linear"
            else f", constant {fusion.constant:g}"
        )
        if fusion is not None
        else "fusion not known"
    )
    index = [
        f"{name} {value}"
        for name, value in (("index", found.index_version), ("embedding", found.embedding_model))
        if value is not None
    ]
    about = f"Votes by {found.voter}, useful from {found.useful_from}; running now epoch {found.epoch}, {how}"
    return (answer(found), ", ".join([about, *index]) + f"; seed {found.seed}.", *found.notes)


def answer(found: Calibration) -> str:
    """The verdict in a sentence or two."""
    gain = found.gain
    if found.verdict == "refused" or gain is None:
        return "Refused: " + "; ".join(found.missing) + "."
    said = f"cross-fitted gain {gain.value:+.3f} of pairs, 95 % interval {gain.low:+.3f} to {gain.high:+.3f}"
    if found.verdict == "recommend":
        return f"Change the weights to {_weights(found.estimate)}: {said}, above zero."
    if found.verdict == "keep":
        return f"Keep the weights: {said}; no gain of more than {WORTHWHILE} is likely."
    if found.missing:
        return f"Keep the weights for now: {said}, which cannot be relied on: {'; '.join(found.missing)}."
    assert found.needed is not None
    return (
        f"Keep the weights for now: {said}, too wide to say. About {found.needed.votes:,} more votes on "
        f"{found.needed.questions:,} more questions would decide."
    )


def snippet(found: Calibration) -> str | None:
    """What to change, as it stands in a program; None when nothing is to be changed."""
    if found.settings is None:
        return None
    pairs = ", ".join(f'"{name}": {json.dumps(value)}' for name, value in found.settings.items())
    return f"WEIGHTS = {{{pairs}}}"


def tables(found: Calibration) -> Iterator[Table]:
    """What is known, most important first."""
    if found.estimate is not None:
        yield _signals(found)
        yield _order(found)
    if found.threshold is not None:
        yield _threshold(found)
    if found.top_k is not None:
        yield _depth(found)
    if found.excluded is not None:
        yield _searches(found)


def _signals(found: Calibration) -> Table:
    estimate, running, flat, spread = found.estimate, found.running, found.flat, found.spread
    assert estimate is not None
    assert running is not None
    assert flat is not None
    assert spread is not None
    return Table(
        title="Weights",
        caption="Their sum is 1. Flat: the votes cannot tell these weights from the best; the estimate is the centre. "
        "Resampled: the middle 95 % of the estimate when questions are drawn anew.",
        columns=("signal", "running", "estimate", "flat", "resampled", "deviation"),
        rows=tuple(
            (
                name,
                f"{running[name]:.3f}",
                f"{weight:.3f}",
                f"{flat[name].low:.3f} to {flat[name].high:.3f}",
                f"{spread[name].low:.3f} to {spread[name].high:.3f}",
                f"{spread[name].deviation:.3f}",
            )
            for name, weight in estimate.items()
        ),
    )


def _order(found: Calibration) -> Table:
    assert found.ordered is not None
    assert found.used is not None
    rows = [
        ("running weights", *_share(found.ordered["running"])),
        ("estimate, on the votes it was fitted to", *_share(found.ordered["estimate"])),
        ("gain on questions it was not fitted to", *_share(found.gain, sign="+")),
    ]
    used = found.used
    return Table(
        title="Pairs ordered right",
        caption=f"Of {used.pairs:,} pairs from {used.searches:,} searches on {used.questions:,} questions, {used.votes:,} votes "
        f"by {used.actors:,} actors; intervals by question. Only the gain is to be acted on.",
        columns=("by", "share", "95 % interval"),
        rows=tuple(rows),
    )


def _threshold(found: Calibration) -> Table:
    cut = found.threshold
    assert cut is not None
    kept = f"{cut.useful_kept:.1%} of {cut.useful:,}"
    if cut.low is not None and cut.high is not None:
        kept += f" ({cut.low:.1%} to {cut.high:.1%})"
    dropped = NOT_MEASURED if cut.dropped is None else f"{cut.dropped:.1%} of {cut.not_useful:,}"
    return Table(
        title="Threshold",
        caption="On the scale of "
        + ("the suggested" if found.verdict == "recommend" else "the running")
        + f" weights. Candidates per search over {cut.searches:,} searches with every signal of every candidate. Nobody votes on "
        "what is not shown, so a lower one than the running is never suggested.",
        columns=("threshold", "value", "useful kept", "not useful dropped", "candidates per search"),
        rows=(
            ("running", f"{cut.running:.4g}", "", "", f"{cut.running_candidates:.1f}"),
            ("the same number of candidates", f"{cut.same_number:.4g}", "", "", ""),
            (
                "keeps 95 % of the useful",
                f"{cut.suggested:.4g}",
                kept,
                dropped,
                f"{cut.suggested_candidates:.1f}",
            ),
        ),
    )


def _depth(found: Calibration) -> Table:
    depth = found.top_k
    assert depth is not None
    running = NOT_MEASURED if depth.running is None else f"{depth.running:,}"
    return Table(
        title="Number of results",
        caption=f"From {depth.judged:,} judged hits at the first {depth.last} ranks, each rank weighed by how often it was shown. "
        f"Of those at the last of these ranks {depth.at_last:.0%} were useful; of what is below, votes do not say enough.",
        columns=("top_k", "value", f"of the useful hits at the first {depth.last} ranks"),
        rows=(("running", running, ""), ("suggested", f"{depth.suggested:,}", f"{depth.reached:.1%}")),
    )


def _searches(found: Calibration) -> Table:
    excluded, used, pairs = found.excluded, found.used, found.pairs
    assert excluded is not None
    assert used is not None
    assert pairs is not None
    rows = [
        (words, f"{getattr(excluded, name):,}")
        for name, words in _EXCLUDED.items()
        if getattr(excluded, name)
    ]
    lacking = "counted as 0 on request" if pairs.imputed else "left out"
    return Table(
        title="Voted searches",
        caption=f"Each is left out for the first reason that holds. Pairs: {pairs.found:,} found, "
        f"{pairs.missing_leg + pairs.imputed:,} of them with a signal that was not scored ({lacking}); "
        f"{pairs.split_hits:,} hits on which voters were evenly divided.",
        columns=("searches", "n"),
        rows=(("voted on", f"{found.searches:,}"), *rows, ("used", f"{used.searches:,}")),
    )


def _share(share: Share | None, sign: str = "") -> tuple[str, str]:
    if share is None:
        return NOT_MEASURED, NOT_MEASURED
    if share.low is None or share.high is None:
        return f"{share.value:{sign}.3f}", NOT_MEASURED
    return f"{share.value:{sign}.3f}", f"{share.low:{sign}.3f} to {share.high:{sign}.3f}"


def _weights(weights: object) -> str:
    assert isinstance(weights, dict)
    return ", ".join(f"{name} {weight:.3f}" for name, weight in weights.items())
