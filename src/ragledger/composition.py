"""Candidates and returned items into hit rows: folded, ranked, sanitised, capped. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from . import sanitise
from .model import Candidate, HitRecord, IdSource, Returned, ScoreKind, Signal, SignalRange

__all__ = ["Caps", "Composed", "compose", "compose_readable"]


_Keyed: TypeAlias = "tuple[str | None, Candidate]"

_SCORE_KINDS = frozenset(get_args(ScoreKind))
_ID_SOURCES = frozenset(get_args(IdSource))
_LONGEST_KEY = 64
_TEXT = frozenset({str})
_TEXT_OR_NOTHING = frozenset({str, type(None)})
_FLOAT = frozenset({float})


class Composed(Struct, frozen=True, gc=False):
    """The hits of one search and what is known of all its candidates, those beyond the cap included.

    The counts are None where some of the candidates could not be read.
    """

    hits: tuple[HitRecord, ...] | Returned
    candidate_count: int | None
    admitted_count: int | None
    top_candidate_score: float | None
    top_admitted_score: float | None
    signals: dict[str, SignalRange] | None


class Caps(NamedTuple):
    """`candidates`: items kept in all; `admitted`: hits kept whatever the former says."""

    candidates: int = 50
    admitted: int = 1000


class _Notes(NamedTuple):
    """What goes along with the items of one search."""

    flags: set[str]
    names: dict[str, str]
    """Signal names as they are stored: they are the same for every hit."""


def compose(
    scored: Sequence[Candidate],
    returned: Sequence[Candidate] | Returned | None,
    flags: set[str],
    caps: Caps = Caps(),  # noqa: B008  an immutable value
) -> Composed:
    """The rows of a search.

    Args:
        scored: what the retriever's own code handed over, in its order, with the score of each signal.
        returned: what the caller got, in that order; None when `scored` says itself what was admitted.
        flags: gets a word for everything that had to be changed.

    Admitted hits keep their position in the returned list as rank (a chunk that came twice keeps its best one);
    candidates that were not admitted follow after the last position.
    """
    if isinstance(returned, Returned):
        usual = _as_it_is(returned, caps) if not scored else None
        return usual or compose(scored, returned.candidates(), flags, caps)
    rest = _keyed(scored, flags)
    details: dict[str | None, Candidate] = {}
    if returned is None:
        chosen = [pair for pair in rest if pair[1].admitted]
        rest = [pair for pair in rest if not pair[1].admitted]
    else:
        chosen = _keyed(returned, flags)
        details, rest = _details(rest, chosen, flags)
    notes = _Notes(flags, {})
    items = _fold(chosen, details, notes)
    following = _unadmitted(rest, items, len(chosen), notes) if rest else []
    return _composed(items, following, flags, caps, scored=bool(scored))


def _composed(
    items: list[HitRecord], following: list[HitRecord], flags: set[str], caps: Caps, *, scored: bool
) -> Composed:
    everything = items + following
    if len(items) > caps.admitted or (following and len(everything) > caps.candidates):
        flags.add("hits_capped")
    room = max(0, caps.candidates - len(items))
    top_admitted_score = _best(items)
    kept = items[: caps.admitted]
    return Composed(
        hits=tuple(kept + following[:room]),
        candidate_count=len(everything),
        admitted_count=len(items),
        top_candidate_score=_best(everything) if following else top_admitted_score,
        top_admitted_score=top_admitted_score,
        signals=_signals(everything) if scored else None,
    )


def _as_it_is(returned: Returned, caps: Caps) -> Composed | None:
    """The usual result: nothing to fold, to change or to cut. None where there may be, which costs more.

    A column is looked at as a whole: a call for each id would be most of the price of a row.
    """
    ids, documents, scores, kind = (
        returned.chunk_ids,
        returned.document_ids,
        returned.scores,
        returned.score_kind,
    )
    count, sources = len(ids), returned.source_kinds
    try:
        texts = [*ids, *documents] if sources is None else [*ids, *documents, *sources]
        if (
            not len({*ids}) == count == len(documents) <= caps.admitted
            or (sources is not None and len(sources) != count)
            or (scores is not None and len(scores) != count)
            or not all(ids)
            or not _are_plain(texts)
            or not _are_known(kind, returned.score_source, returned.chunk_id_source)
            or (scores is not None and not _are_finite(scores))
        ):
            return None
    except Exception:  # noqa: BLE001  a foreign value may raise anything; the careful way meets it again
        return None
    top = None
    if scores and kind != "none":
        top = min(scores) if kind == "distance" else max(scores)
    return Composed(returned if count else (), count, count, top, top, None)


def _are_plain(texts: list[str | None]) -> bool:
    """Whether `sanitise.text` would leave each of them as it is."""
    kinds = {*map(type, texts)}
    if not kinds <= _TEXT_OR_NOTHING:
        return False
    together = "".join(texts if kinds == _TEXT else filter(None, texts))  # type: ignore[arg-type]
    if "\0" in together or (
        len(together) > sanitise.MAX_TEXT and max(map(len, filter(None, texts))) > sanitise.MAX_TEXT
    ):
        return False
    return together.isascii() or bool(together.encode("utf-8"))  # raises on an unpaired surrogate


@lru_cache(maxsize=64)
def _are_known(score_kind: str | None, score_source: str | None, id_source: str) -> bool:
    kinds = (*_SCORE_KINDS, None)
    return (
        score_kind in kinds and id_source in _ID_SOURCES and _are_plain([score_kind, score_source, id_source])
    )


def _are_finite(numbers: list[float]) -> bool:
    return {*map(type, numbers)} <= _FLOAT and math.isfinite(sum(numbers))


def compose_readable(
    scored: Sequence[Candidate], returned: Sequence[Candidate] | Returned | None, flags: set[str], caps: Caps
) -> Composed:
    """`compose` for items some of which raise: a returned one keeps its rank, a candidate is left out."""
    if isinstance(returned, Returned):
        returned = returned.candidates()
    kept = [item for item in scored if _is_readable(item)]
    items = [item if _is_readable(item) else Candidate(None) for item in returned or ()]
    composed = compose(kept, items if returned is not None else None, flags, caps)
    if len(kept) == len(scored):
        return composed
    admitted_count = composed.admitted_count if returned is not None else None
    return replace(composed, candidate_count=None, admitted_count=admitted_count)


def _is_readable(item: Candidate) -> bool:
    try:
        compose([item], [item], set())
    except Exception:  # noqa: BLE001  counted by the recorder, when `compose` met it
        return False
    return True


def _keyed(items: Sequence[Candidate], flags: set[str]) -> list[_Keyed]:
    """By the id as it will be stored, so that an id which had to be changed is the same on both sides.

    An empty id is none: items that have it are not the same item.
    """
    return [(sanitise.text(item.chunk_id, flags) or None, item) for item in items]


def _details(
    scored: Sequence[_Keyed], chosen: Sequence[_Keyed], flags: set[str]
) -> tuple[dict[str | None, Candidate], list[_Keyed]]:
    """What was handed over by id, the first of an id, and what of it was not returned."""
    details: dict[str | None, Candidate] = {}
    for chunk_id, item in scored:
        if chunk_id is not None and details.setdefault(chunk_id, item) is not item:
            flags.add("duplicate_hit")
    admitted = {chunk_id for chunk_id, _ in chosen if chunk_id is not None}
    return details, [pair for pair in scored if pair[0] not in admitted]


def _fold(
    chosen: Sequence[_Keyed], details: Mapping[str | None, Candidate], notes: _Notes
) -> list[HitRecord]:
    hits: list[HitRecord] = []
    seen: set[str] = set()
    for rank, (chunk_id, item) in enumerate(chosen, start=1):
        if chunk_id is not None:
            if chunk_id in seen:
                notes.flags.add("duplicate_hit")
                continue
            seen.add(chunk_id)
        hits.append(_hit(chunk_id, item, details.get(chunk_id, item), rank, notes, admitted=True))
    return hits


def _unadmitted(rest: Sequence[_Keyed], items: list[HitRecord], last: int, notes: _Notes) -> list[HitRecord]:
    seen = {hit.chunk_id for hit in items if hit.chunk_id is not None}
    following: list[HitRecord] = []
    for chunk_id, item in rest:
        if chunk_id is not None:
            if chunk_id in seen:
                notes.flags.add("duplicate_hit")
                continue
            seen.add(chunk_id)
        rank = last + len(following) + 1
        following.append(_hit(chunk_id, item, item, rank, notes, admitted=False))
    return following


def _hit(
    chunk_id: str | None, item: Candidate, detail: Candidate, rank: int, notes: _Notes, *, admitted: bool
) -> HitRecord:
    """A row from what was returned (`item`) and what the retriever's own code said of it (`detail`)."""
    text, number, flags = sanitise.text, sanitise.number, notes.flags
    said = item if item.score is not None and not detail.outranks(item) else detail
    score = said.score
    score = score if score is None else number(score, flags)
    vector, lexical = detail.vector, detail.lexical
    document_id = item.document_id if item.document_id is not None else detail.document_id
    source_kind = item.source_kind if item.source_kind is not None else detail.source_kind
    score_source = said.score_source
    if score is None and score_source is None:
        score_source = item.score_source
    id_source: IdSource = item.chunk_id_source or "framework"
    if id_source not in _ID_SOURCES:
        id_source = sanitise.word(id_source, _ID_SOURCES, flags) or "framework"
    return HitRecord(
        rank,
        chunk_id,
        id_source if chunk_id is not None else None,
        document_id if document_id is None else text(document_id, flags),
        source_kind if source_kind is None else text(source_kind, flags),
        score,
        _score_kind(said, detail, flags) if score is not None else "none",
        score_source if score_source is None else text(score_source, flags),
        vector if vector is None else number(vector, flags),
        lexical if lexical is None else number(lexical, flags),
        _other_signals(detail.signals, notes) if detail.signals else None,
        admitted,
        _content_key(item, detail),
    )


def _content_key(item: Candidate, detail: Candidate) -> bytes | None:
    key = item.content_key if item.content_key is not None else detail.content_key
    return key if key is None or (type(key) is bytes and len(key) <= _LONGEST_KEY) else None


def _other_signals(signals: Mapping[str, Signal | float | None], notes: _Notes) -> dict[str, Signal]:
    flags, names = notes
    found: dict[str, Signal] = {}
    for name, value in signals.items():
        score, rank = (value.score, value.rank) if isinstance(value, Signal) else (value, None)
        if (kept := names.get(name)) is None:
            kept = names[name] = sanitise.text(name, flags) or ""
        found[kept] = Signal(sanitise.number(score, flags), sanitise.count(rank, flags) or None)
    return found


def _score_kind(said: Candidate, detail: Candidate, flags: set[str]) -> ScoreKind:
    given = said.score_kind
    if given is not None and (known := sanitise.word(given, _SCORE_KINDS, flags)) is not None:
        return known  # type: ignore[no-any-return]
    sources = (detail.vector is not None) + (detail.lexical is not None)
    if detail.signals:
        sources += len(detail.signals)
    return "fused" if sources > 1 else "similarity"


def _best(hits: list[HitRecord]) -> float | None:
    """The best score: of distances, the smallest. Of numbers of no known kind, or of two, nobody knows which is better."""
    scored = [hit for hit in hits if hit.score is not None and hit.score_kind != "none"]
    if not scored:
        return None
    if any(hit.score_kind != scored[0].score_kind for hit in scored):
        return None
    scores = [hit.score for hit in scored if hit.score is not None]
    return min(scores) if scored[0].score_kind == "distance" else max(scores)


def _signals(hits: list[HitRecord]) -> dict[str, SignalRange] | None:
    scores: dict[str, list[float]] = {}
    counts: dict[str, int] = {}
    for hit in hits:
        for name, score, rank in _said_of(hit):
            known = scores.setdefault(name, [])
            if score is not None:
                known.append(score)
            counts[name] = counts.get(name, 0) + (score is not None or rank is not None)
    if not scores:
        return None
    return {
        name: SignalRange(
            min=min(known, default=None),
            max=max(known, default=None),
            count=counts[name],
            complete=counts[name] == len(hits),
            **_spread(known),
        )
        for name, known in scores.items()
    }


def _spread(scores: list[float]) -> dict[str, float]:
    if not scores:
        return {}
    try:
        mean = math.fsum(scores) / len(scores)
        deviation = math.hypot(*(score - mean for score in scores)) / math.sqrt(len(scores))
    except OverflowError:
        return {}
    return {"mean": mean, "deviation": deviation} if math.isfinite(deviation) else {}


def _said_of(hit: HitRecord) -> Iterator[tuple[str, float | None, int | None]]:
    """Name, score and rank of every signal of a hit."""
    if hit.vector_score is not None:
        yield "vector", hit.vector_score, None
    if hit.lexical_score is not None:
        yield "lexical", hit.lexical_score, None
    for name, signal in (hit.signals or {}).items():
        yield name, signal.score, signal.rank
