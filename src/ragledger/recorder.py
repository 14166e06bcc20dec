"""From an observation to a row, then to a span: row first, each under its own guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias
from uuid import UUID

from . import sanitise
from .composition import Caps, Composed, compose, compose_readable
from .faults import status_of
from .guard import Guard
from .ids import new_id
from .model import Candidate, Receipt, Record, Returned, SearchRecord, Status
from .observation import NULL, NullObservation, Observation, Opening
from .ports import FATE_UNKNOWN, Interrupted, Narration, Narrator, Sink, SpanFacts
from .row import bare_row, search_row
from .scope import scope as current_scope

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
            try:
                observation.enter(self._narrate(observation))
                return observation  # noqa: TRY300  Ctrl-C may come here, too
            except BaseException:
                observation.abandon()
                raise
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
            narration, observation.narration = observation.narration, None
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
            record = search_row(observation, status, composed, exc, skip_reason)
        if record is None:
            with self.sections.row:
                record = bare_row(observation, status)
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
