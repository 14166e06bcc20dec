"""Calibrates weights from the table alone: reads a window, hands pairs to `measures`, says what they carry.

It recommends and never applies. What each number means is said in `measures/calibration.py`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, structs

from ragledger.measures.calibration import Calibration, Minimum, Share
from ragledger.measures.calibration_notes import current_notes, missing, notes, unscored, untold, untuned
from ragledger.measures.decision import decide, needed
from ragledger.measures.depth import Depth, depth
from ragledger.measures.evidence import Evidence, evidence
from ragledger.measures.findings import Findings, findings
from ragledger.measures.pairs import Floats
from ragledger.measures.refusion import Fusion, Unreadable
from ragledger.measures.report import Window
from ragledger.measures.threshold import Cut, cut
from ragledger.model import ActorKind, Outcome
from ragledger.postgres.connection import Connection, reading
from ragledger.scoped import ScopeReader

from .calibration_reading import Reading, read, read_candidates

__all__ = ["Candidates", "Options", "calibrate", "conclude", "weigh"]

_SAMPLE = 2_000  # searches whose candidates are read for the threshold
_UNREAD = (
    "{reason}: nothing to calibrate in epoch {epoch}, whose weights run now; where another retriever is meant, "
    "narrow the window (--project, --corpus, --surface, --until)"
)
_NO_VOTES = "no votes of kind {kind} in this window; {pairs:,} pairs are needed"
_ACTORS = 3
_JUDGES = 1  # a judged set speaks for itself, whoever reads it out


class Options(Struct, frozen=True, kw_only=True):
    """How to calibrate. `voter` None: those who judged most hits. `impute_zero` takes a signal that was not scored for 0.

    `min_actors` None: three, and of kind `judge` one.
    """

    useful_from: Outcome = "relevant"
    voter: ActorKind | None = None
    impute_zero: bool = False
    min_pairs: int = 200
    min_searches: int = 100
    min_actors: int | None = None
    seed: int = 7


class Candidates(NamedTuple):
    """What each signal adds to the candidates of some searches, all of them complete."""

    features: Floats
    searches: int


def calibrate(
    connection: Connection, window: Window, options: Options, step: Callable[[int], None] = lambda _: None
) -> Calibration:
    """What the votes of the window say about the weights that run now, or ran at its end.

    Raises:
        NothingToMeasure: no search of the window ran. That the data cannot carry an answer is an answer: `refused`.
    """
    with reading(connection):
        reader = ScopeReader(connection, window, options.useful_from)
        found = read(reader, options.voter)
        step(1)
        rests_on = weigh(found, options)
        candidates = None if rests_on is None else _candidates(reader, found, rests_on)
        step(1)
    return conclude(found, rests_on, candidates, window, options, step=step)


def weigh(found: Reading, options: Options) -> Evidence | None:
    """The pairs that were read; None where the running fusion is not known."""
    if not isinstance(found.running, Fusion):
        return None
    return evidence(found.searches, found.hits, found.fusions, found.current, impute_zero=options.impute_zero)


def conclude(
    found: Reading,
    rests_on: Evidence | None,
    candidates: Candidates | None,
    window: Window,
    options: Options,
    *,
    step: Callable[[int], None] = lambda _: None,
) -> Calibration:
    """Everything after reading; touches no database."""
    fusion = found.running
    opening = _opening(found, window, options)
    if not found.searches:
        reason = _NO_VOTES.format(kind=found.voter, pairs=options.min_pairs)
        return structs.replace(opening, missing=(reason,))
    if rests_on is None or isinstance(fusion, Unreadable):
        reason = fusion.reason if isinstance(fusion, Unreadable) else "nothing was read"
        return structs.replace(opening, missing=(_UNREAD.format(reason=reason, epoch=opening.epoch),))
    counted = _counted(opening, found, rests_on, fusion)
    if counted.missing:
        return counted
    said = findings(rests_on, fusion, options.seed, step)
    return _concluded(counted, said, rests_on, candidates, found)


def _opening(found: Reading, window: Window, options: Options) -> Calibration:
    kind = found.voter
    actors = options.min_actors
    if actors is None:
        actors = _JUDGES if kind == "judge" else _ACTORS
    minimum = Minimum(pairs=options.min_pairs, searches=options.min_searches, actors=actors)
    return Calibration(
        verdict="refused",
        window=window,
        useful_from=options.useful_from,
        voter=kind,
        seed=options.seed,
        minimum=minimum,
        epoch=found.current.epoch,
        index_version=found.current.index_version,
        embedding_model=found.current.embedding_model,
        searches=len(found.searches),
        searches_of_epoch=sum(search.epoch == found.current.epoch for search in found.searches),
    )


def _counted(opening: Calibration, found: Reading, rests_on: Evidence, fusion: Fusion) -> Calibration:
    """Refused, with everything counted; what is missing is empty where nothing speaks against going on."""
    deep = depth(found.ranks, found.top_k)
    counted = structs.replace(
        opening,
        fusion=fusion,
        epochs=tuple(sorted({found.searches[place].epoch for place in rests_on.eligible.tolist()})),
        excluded=rests_on.excluded,
        pairs=rests_on.counts,
        used=rests_on.used,
        top_k=deep if isinstance(deep, Depth) else None,
    )
    return structs.replace(
        counted,
        missing=(
            *missing(counted),
            *unscored(fusion, {name for search in found.searches for name in search.signals or ()}),
        ),
        notes=(
            *current_notes(counted, found.elsewhere),
            *notes(counted, found.judged),
            *([] if isinstance(deep, Depth) else [f"No number of results is suggested: {deep}."]),
        ),
    )


def _concluded(
    counted: Calibration, said: Findings, rests_on: Evidence, candidates: Candidates | None, found: Reading
) -> Calibration:
    fusion, used, gain = counted.fusion, counted.used, said.gain
    assert fusion is not None
    assert used is not None
    lacking = untold(used)
    verdict = "collect" if lacking else decide(gain)
    change = verdict == "recommend"
    effective: Any = found.current.weights.get("effective")
    declared = found.current.weights.get("source") == "declared"
    name, running = _threshold_of(effective)
    weights = said.weights if change else np.array(list(said.running.values()))
    tuned = _tuned(weights * sum(fusion.weights), fusion, rests_on, candidates, running)
    settings = fusion.settings(said.weights.tolist()) if change else {}
    if tuned is not None and name is not None and change:
        # Carried over and not raised: a raise was tested by nothing, and is for a reader of the table to decide.
        settings[name] = round(tuned.same_number, 4)
    return structs.replace(
        counted,
        verdict=verdict,
        missing=lacking,
        notes=(*counted.notes, *untuned(tuned, running, change=change)),
        running=said.running,
        estimate=said.estimate,
        flat=said.flat,
        spread=said.spread,
        gain=Share(value=gain.value, low=gain.low, high=gain.high),
        ordered=said.ordered,
        needed=needed(gain, used.questions, used.votes) if verdict == "collect" and not lacking else None,
        threshold=tuned,
        settings=_pasted(settings, effective if declared else {}),
        profiles=said.profiles,
    )


def _pasted(changed: dict[str, Any], others: dict[str, Any]) -> dict[str, Any] | None:
    """Declared settings whole, as they were declared; of a framework's retriever what changes."""
    return {**others, **changed} if changed else None


def _threshold_of(effective: Any) -> tuple[str | None, float | None]:
    for name in ("threshold", "score_threshold"):
        value = effective.get(name)
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            return name, float(value)
    return None, None


def _candidates(reader: ScopeReader, found: Reading, rests_on: Evidence) -> Candidates | None:
    """Of searches spread evenly over those that have every candidate with every signal."""
    fusion = found.running
    if not isinstance(fusion, Fusion) or fusion.kind != "linear" or fusion.scale != "raw":
        return None
    whole = [place for place in rests_on.eligible.tolist() if _is_whole(found, place, fusion)]
    chosen = whole[:: max(len(whole) // _SAMPLE, 1)]
    if not chosen:
        return None
    ids = [found.searches[place].search_id for place in chosen]
    _, said = read_candidates(reader, ids, fusion)
    return Candidates(said, len(chosen)) if not np.isnan(said).any() else None


def _is_whole(found: Reading, place: int, fusion: Fusion) -> bool:
    search = found.searches[place]
    signals = search.signals or {}
    return not search.capped and all(signals.get(name, {}).get("complete") is True for name in fusion.names)


def _tuned(
    weights: Floats, fusion: Fusion, rests_on: Evidence, candidates: Candidates | None, running: float | None
) -> Cut | None:
    if candidates is None or running is None:
        return None
    judged = rests_on.judged
    return cut(
        (judged.features @ weights, judged.useful, judged.question),
        (candidates.features @ np.array(fusion.weights), candidates.features @ weights),
        candidates.searches,
        running,
    )
