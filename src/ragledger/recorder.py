"""From an observation to a row, then to a span: row first, each under its own guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from . import sanitise
from .composition import Caps, Composed, compose, compose_readable
from .faults import error_origin, error_type, status_of
from .guard import Guard
from .ids import new_id
from .model import ActorKind, Candidate, ErrorOrigin, Receipt, Record, Returned, SearchRecord, Status
from .observation import NULL, NullObservation, Observation, Opening, actor_of
from .ports import FATE_UNKNOWN, Interrupted, Narration, Narrator, Sink, SpanFacts
from .scope import scope as current_scope
from .weights import UNREADABLE, epoch_of, freeze

if TYPE_CHECKING:
    from .clock import Clock
    from .ledger import Ledger

__all__ = ["KnownSearches", "Recorder"]

_Votable: TypeAlias = "tuple[tuple[int, str | None], ...]"
_NOTHING = Composed((), None, None, None, None, None)
_UNCOUNTED = frozenset({"fault", FATE_UNKNOWN})  # counted as what it was; no refusal
_FAULT = Receipt(search_id=None, status="refused", reason="fault")


class KnownSearches:
    """The hits of this process's latest searches, for checking votes without the database. Bounded."""

    def __init__(self, limit: int = 2048) -> None:
        self._limit = limit
        self._hits: dict[UUID, tuple[tuple[int, str | None], ...]] = {}

    def remember(self, search_id: UUID, hits: tuple[tuple[int, str | None], ...]) -> None:
        """Keeps the (rank, chunk id) pairs that may be voted on; forgets the oldest past the limit."""
        self._hits[search_id] = hits
        if len(self._hits) > self._limit:
            # list() is one step under the GIL where next(iter()) is two.
            for oldest in list(self._hits)[: len(self._hits) // 8]:
                self._hits.pop(oldest, None)

    def hits_of(self, search_id: UUID) -> tuple[tuple[int, str | None], ...] | None:
        """None when the search is not one of ours, or forgotten."""
        return self._hits.get(search_id)


class _Sections:
    """The guard's sections of one search, at hand: looking each up would cost as much as entering it."""

    __slots__ = ("capture", "clock", "hits", "journal", "open", "row", "span")

    def __init__(self, guard: Guard) -> None:
        self.open = guard("open")
        self.clock = guard("clock")
        self.hits = guard("hits")
        self.row = guard("row")
        self.journal = guard("journal")
        self.span = guard("span")
        self.capture = guard("capture")


class Recorder:
    """Opens and closes observations for one ledger."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        sink: Sink,
        narrator: Narrator,
        guard: Guard,
        clock: Clock,
        kept_as: Literal["journalled", "written"] = "journalled",
    ) -> None:
        self.ledger = ledger
        self.project = ledger.settings.project
        self.kept_as = kept_as
        self.guard = guard
        self.sections = _Sections(guard)
        self.clock = clock
        self.known = KnownSearches()
        self.caps = Caps(ledger.settings.max_candidates, ledger.settings.max_admitted)
        self.new_id: Callable[[], UUID] = new_id
        self._sink = sink
        self._narrator = narrator

    def open(self, opening: Opening) -> Observation | NullObservation:
        """Starts a search and makes it the open one here. False when nothing is recorded."""
        with self.sections.open:
            scope = current_scope()
            if scope.suppressed:
                return NULL
            observation = Observation(self, opening, scope)
            observation.enter(self._narrate(observation))
            return observation
        return NULL

    def skip(self, opening: Opening, reason: str) -> Receipt:
        """Records that a retrieval was due and not called."""
        with self.sections.open:
            scope = current_scope()
            if scope.suppressed:
                return NULL.receipt
            observation = Observation(self, opening, scope)
            observation.closed = True
            self._record(observation, "skipped", _NOTHING, skip_reason=reason)
            return observation.receipt
        return _FAULT

    def put(self, record: Record) -> str | None:
        """Hands a record to the sink; a refusal is counted by its reason."""
        refusal: str | None = "fault"
        try:
            with self.sections.journal:
                refusal = self._sink.put(record)
        except Interrupted as interrupted:
            raise interrupted.cause from None
        if refusal is not None and refusal not in _UNCOUNTED:
            self.guard.count(f"refused:{refusal}")
        return refusal

    def close(
        self,
        observation: Observation,
        status: Status,
        returned: Iterable[Candidate] | Returned | None,
        exc: BaseException | None,
    ) -> None:
        """Writes the row, then the span, then gives out the receipt."""
        composed = _NOTHING
        if exc is not None:
            with self.sections.row:
                status = status_of(exc)
        if observation.answered or (returned is not None and exc is None):
            composed = self._compose(observation, returned)
        record: SearchRecord | None = None
        try:
            record = self._record(observation, status, composed, exc=exc)
        finally:  # also after Ctrl-C: a span that never ends is never exported
            narration = observation.narration
            if narration is not None:
                with self.sections.span:
                    end_ns = observation.start_ns + (observation.elapsed_ns or 0)
                    narration.close(record, observation.receipt.status, end_ns)
        capture = observation.scope.capture
        if capture is not None:
            with self.sections.capture:
                capture.add(observation, observation.receipt)

    def _narrate(self, observation: Observation) -> Narration | None:
        with self.sections.span:
            return self._narrator.open(partial(_span_facts, observation))
        return None

    def _compose(self, observation: Observation, returned: Iterable[Candidate] | Returned | None) -> Composed:
        scored, flags = observation.scored, observation.flags
        items: Sequence[Candidate] | Returned | None = None
        with self.sections.hits:
            items = returned if returned is None or isinstance(returned, (list, Returned)) else list(returned)
            return compose(scored, items, flags, self.caps)
        flags.add("incomplete")
        if items is not None or returned is None:
            with self.sections.hits:
                return compose_readable(scored, items, flags, self.caps)
        return _NOTHING

    def _record(
        self,
        observation: Observation,
        status: Status,
        composed: Composed,
        *,
        exc: BaseException | None = None,
        skip_reason: str | None = None,
    ) -> SearchRecord | None:
        """Hands the row to the sink. A row that cannot be made whole is made of what is ours alone."""
        observation.receipt = _FAULT
        record: SearchRecord | None = None
        with self.sections.row:
            record = self._row(observation, status, composed, exc, skip_reason)
        if record is None:
            with self.sections.row:
                record = self._bare_row(observation, status)
        if record is not None:
            try:
                refusal = self.put(record)
            except BaseException:
                observation.receipt = Receipt(
                    search_id=record.search_id, status="unknown", reason="interrupted"
                )
                raise
            with self.sections.row:
                observation.receipt = self._search_receipt(record, composed.votable, refusal)
        return record

    def receipt(
        self, search_id: UUID, refusal: str | None, hits: tuple[tuple[int, str | None], ...] = ()
    ) -> Receipt:
        """What the caller gets for a record that `put` answered with `refusal`."""
        if refusal is None:
            return Receipt(search_id=search_id, status=self.kept_as, hits=hits)
        if refusal == FATE_UNKNOWN:
            return Receipt(search_id=search_id, status="unknown", reason=refusal, hits=hits)
        return Receipt(search_id=None, status="refused", reason=refusal)

    def _search_receipt(self, record: SearchRecord, votable: _Votable, refusal: str | None) -> Receipt:
        hits = votable if record.hits else ()
        receipt = self.receipt(record.search_id, refusal, hits)
        if receipt.search_id is not None:
            self.known.remember(record.search_id, hits)
        return receipt

    def _row(
        self,
        observation: Observation,
        status: Status,
        composed: Composed,
        exc: BaseException | None,
        skip_reason: str | None,
    ) -> SearchRecord:
        flags = observation.flags
        # By position, in the order of the columns: forty names would be a tenth of what a search costs.
        circumstances = _circumstances(observation, flags)
        lineage = _lineage(observation, flags)
        outcome = _outcome(observation, status, exc, skip_reason)
        available = _vector_available(observation, composed, flags)
        latency_ms = _latency_ms(observation, status, flags)
        weights, epoch, index_version, embedding_model, extractor = _ranking(observation, flags)
        trace = observation.trace
        run_id = observation.opening.external_run_id
        run_id = run_id if run_id is None else sanitise.text(run_id, flags)
        searched = status == "ok"
        return SearchRecord(
            observation.search_id, observation.start_ns // 1000, self.project,
            *circumstances,
            *lineage,
            status,
            *outcome,
            available,
            latency_ms,
            sanitise.count(observation.top_k, flags),
            composed.candidate_count if searched else None, composed.admitted_count if searched else None,
            composed.top_candidate_score, composed.top_admitted_score,
            weights, epoch, index_version, embedding_model, extractor,
            composed.signals,
            None,
            tuple(sorted(flags)) if flags else (),
            trace.trace_id, trace.span_id, trace.sampled, trace.owner,
            run_id,
            composed.hits,
        )  # fmt: skip

    def _bare_row(self, observation: Observation, status: Status) -> SearchRecord:
        observation.flags.add("incomplete")
        parent = observation.parent
        columns = {
            "search_id": observation.search_id,
            "started_at": observation.start_ns // 1000,
            "framework": observation.opening.framework,
            "parent_id": parent.search_id if parent is not None else None,
            "root_id": observation.root_id,
            "depth": observation.depth,
            "actor_kind": "system",
            "weights": _UNREADABLE.json,
            "epoch": epoch_of(_UNREADABLE, index_version=None, embedding_model=None),
            "skip_reason": "unknown" if status == "skipped" else None,
            "degraded": False,
            "hits": (),
        }
        return SearchRecord(
            **(_UNSAID | columns),
            project=self.project,
            status=status,
            flags=tuple(sorted(observation.flags)),
        )


# For a bare row: what it does not say is unknown.
_UNSAID: dict[str, Any] = {
    name: None for name in SearchRecord.__struct_fields__ if name not in {"project", "status", "flags"}
}
_UNREADABLE = freeze(UNREADABLE)


def _span_facts(observation: Observation) -> SpanFacts:
    flags: set[str] = set()  # the row flags these; the span only must not break
    return SpanFacts(
        observation.search_id,
        observation.opening.framework,
        _said(observation, "corpus", flags),
        _said(observation, "surface", flags),
        sanitise.count(observation.top_k, flags),
        observation.start_ns,
    )


def _said(observation: Observation, name: str, flags: set[str]) -> str | None:
    """Text that the call or the code around it says; nothing is what an empty one says."""
    value = observation.said(name)
    return value if value is None else sanitise.text(value, flags) or None


def _circumstances(
    observation: Observation, flags: set[str]
) -> tuple[str | None, str | None, str | None, ActorKind, str | None, str, str | None]:
    """Corpus, surface, session, actor's kind and id, framework, retriever: what adapter, call and scope said."""
    opening, text = observation.opening, sanitise.text
    said, scope = opening.said.get, observation.scope
    corpus, surface, session_id, actor = said("corpus"), said("surface"), said("session_id"), said("actor")
    corpus = scope.corpus if corpus is None else corpus
    surface = scope.surface if surface is None else surface
    session_id = scope.session_id if session_id is None else session_id
    actor = scope.actor if actor is None else actor
    return (
        None if corpus is None else text(corpus, flags) or None,
        None if surface is None else text(surface, flags) or None,
        None if session_id is None else text(session_id, flags) or None,
        *(("system", None) if actor is None else actor_of(actor, flags)),
        opening.framework,
        text(opening.retriever, flags),
    )


def _lineage(
    observation: Observation, flags: set[str]
) -> tuple[UUID | None, UUID, int, UUID | None, UUID | None]:
    """Parent, root, depth, the attempt it repeats, the search that it was served from."""
    parent, served_from = observation.parent, observation.opening.served_from
    return (
        parent.search_id if parent is not None else None,
        observation.root_id,
        observation.depth,
        sanitise.identifier(observation.attempt_of, flags),
        sanitise.identifier(served_from, flags),
    )


def _outcome(
    observation: Observation, status: Status, exc: BaseException | None, skip_reason: str | None
) -> tuple[str | None, str | None, ErrorOrigin | None, bool, str | None]:
    """Reason of a skip, type and origin of an error, degraded and its reason."""
    flags, degraded = observation.flags, observation.degraded_reason
    return (
        (sanitise.text(skip_reason, flags) or "unknown") if status == "skipped" else None,
        sanitise.text(error_type(exc), flags) if exc is not None else None,
        error_origin(exc) if exc is not None else None,
        degraded is not None,
        degraded if degraded is None else sanitise.text(degraded, flags),
    )


def _ranking(
    observation: Observation, flags: set[str]
) -> tuple[str, str, str | None, str | None, str | None]:
    """Weights, epoch, index version, embedding model, extractor: what shaped the ranking."""
    frozen, index_version, embedding_model = (
        observation.weights,
        observation.index_version,
        observation.embedding_model,
    )
    if not frozen.readable:
        flags.add("weights_unreadable")
    if index_version is not None:
        index_version = sanitise.text(index_version, flags) or None
    if embedding_model is not None:
        embedding_model = sanitise.text(embedding_model, flags) or None
    return (
        frozen.json,
        epoch_of(frozen, index_version=index_version, embedding_model=embedding_model),
        index_version,
        embedding_model,
        sanitise.text(frozen.extractor, flags),
    )


def _latency_ms(observation: Observation, status: Status, flags: set[str]) -> float | None:
    if status == "skipped":
        return None
    elapsed_ns = observation.elapsed_ns
    if elapsed_ns is None:
        flags.add("incomplete")
        return None
    return elapsed_ns / 1e6


def _vector_available(observation: Observation, composed: Composed, flags: set[str]) -> bool | None:
    """Dense retrieval answered: true; the embedding failed: false; no vector signal, or unknowable: null."""
    said = observation.vector_available
    if said is not None and (said := sanitise.truth(said, flags)) is not None:
        return said
    vector = composed.signals.get("vector") if composed.signals else None
    return True if vector is not None and vector.count else None
