"""From an observation to a row, then to a span: row first, each under its own guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from . import sanitise
from .attempts import Attempts
from .composition import Caps, Composed, compose, compose_readable
from .faults import status_of
from .guard import Guard
from .ids import new_id
from .known import KnownSearches
from .model import (
    Admitted,
    Candidate,
    FeedbackRecord,
    Receipt,
    Record,
    Returned,
    SearchRecord,
    Status,
    Votable,
    votable,
)
from .observation import NULL, NullObservation, Observation, Opening
from .ports import FATE_UNKNOWN, Interrupted, Listener, Narration, Narrator, Sink, SpanFacts
from .row import bare_row, circumstances, search_row
from .scope import scope as current_scope
from .texts import texts_of

if TYPE_CHECKING:
    from .clock import Clock
    from .ledger import Ledger
    from .texts import TextsPause

__all__ = ["Recorder"]

_NOTHING = Composed((), None, None, None, None, None)
_UNCOUNTED = frozenset({"fault", FATE_UNKNOWN})  # counted as what it was; no refusal
_INTERRUPTED = "interrupted"  # nobody can say what became of the record: `put` has not come back
_UNKNOWN = frozenset({FATE_UNKNOWN, _INTERRUPTED})
_FAULT = Receipt(search_id=None, status="refused", reason="fault")


class Recorder:
    """Opens and closes observations for one ledger."""

    def __init__(  # noqa: PLR0913  its parts
        self,
        ledger: Ledger,
        *,
        sink: Sink,
        narrator: Narrator,
        guard: Guard,
        clock: Clock,
        texts_pause: TextsPause,
        kept_as: Literal["journalled", "written"] = "journalled",
    ) -> None:
        self.ledger = ledger
        self.project = ledger.settings.project
        self.kept_as = kept_as
        self.guard = guard
        self.clock = clock
        self.known = KnownSearches()
        self.attempts = Attempts(guard, clock)
        self.caps = Caps(ledger.settings.max_candidates, ledger.settings.max_admitted)
        self.new_id: Callable[[], UUID] = new_id
        self._sink = sink
        self._privacy = ledger.privacy
        self._stores_text = ledger.stores_text
        self.texts_pause = texts_pause
        self._narrator = narrator
        self._listeners: tuple[Listener, ...] = ()

    @property
    def narrator(self) -> Narrator:
        """Who tells of the searches."""
        return self._narrator

    def listen(self, listeners: Iterable[Listener]) -> None:
        """From here on these hear of what is recorded."""
        self._listeners = tuple(listeners)

    def voted(self, record: FeedbackRecord) -> None:
        """A vote was kept: whoever listens hears of it."""
        with self.guard("listeners"):
            for listener in self._listeners:
                listener.voted(record)

    def open(self, opening: Opening) -> Observation | NullObservation:
        """Starts a search and makes it the open one here. False when nothing is recorded."""
        observation: Observation | None = None
        try:
            scope = current_scope()
            if scope.suppressed:
                return NULL
            observation = Observation.begun(self, opening, scope)
            if self.attempts.recent:
                self.attempts.join(observation)
            observation.enter(self._narrate(observation))
            return observation  # noqa: TRY300  Ctrl-C may come here, too
        except (
            BaseException
        ) as fault:  # also after Ctrl-C: it never ran, and must not be the open one for ever
            if observation is not None:
                observation.abandon()
            if not isinstance(fault, Exception):
                raise
            self.guard.take("open", fault)
        return NULL

    def skip(self, opening: Opening, reason: str) -> Receipt:
        """Records that a retrieval was due and not called."""
        with self.guard("open"):
            scope = current_scope()
            if scope.suppressed:
                return NULL.receipt
            observation = Observation.begun(self, opening, scope)
            observation.closed = True
            self._record(observation, "skipped", _NOTHING, skip_reason=reason)
            return observation.receipt
        return _FAULT

    def put(self, record: Record) -> str | None:
        """Hands a record to the sink; a refusal is counted by its reason."""
        refusal: str | None = "fault"
        try:
            refusal = self._sink.put(record)
        except Interrupted as interrupted:
            raise interrupted.cause from None
        except Exception as fault:  # noqa: BLE001  a record must not cost the search
            self.guard.take("journal", fault)
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
            with self.guard("row"):
                status = status_of(exc)
        elif observation.attempt_of is not None:
            self.attempts.answered(observation)
        if observation.answered or (returned is not None and exc is None):
            composed = self._compose(observation, returned)
        record: SearchRecord | None = None
        try:
            record = self._record(observation, status, composed, exc=exc)
        finally:  # also after Ctrl-C: a span that never ends is never exported
            if observation.narration is not None:
                observation.end_span(record)
        if record is not None:
            for listener in self._listeners:
                try:
                    listener.searched(record)
                except Exception as fault:  # noqa: BLE001  a metrics SDK may raise anything
                    self.guard.take("listeners", fault)
        if status == "error":
            self.attempts.failed(observation)
        capture = observation.scope.capture
        if capture is not None:
            with self.guard("capture"):
                capture.add(observation, observation.receipt)

    def _keep_texts(self, observation: Observation, record: SearchRecord) -> None:
        """A record of its own, after the row: a text that cannot be kept costs no search its row."""
        told = observation.told
        if told is not None and observation.receipt.search_id is not None:
            texts = None
            with self.guard("texts"):
                texts = texts_of(record, told) if not self.texts_pause.is_on else None
            if texts is not None:
                self.put(texts)

    def _narrate(self, observation: Observation) -> Narration | None:
        try:
            return self._narrator.open(lambda: _span_facts(observation))
        except Exception as fault:  # noqa: BLE001  a tracing SDK may raise anything
            self.guard.take("span", fault)
        return None

    def _compose(self, observation: Observation, returned: Iterable[Candidate] | Returned | None) -> Composed:
        scored, flags = observation.scored, observation.flags
        items: Sequence[Candidate] | Returned | None = None
        try:
            if returned is not None:
                items = returned if isinstance(returned, Returned) else list(returned)
            return compose(scored, items, flags, self.caps)
        except Exception as fault:  # noqa: BLE001  a foreign value may raise anything
            self.guard.take("hits", fault)
        flags.add("incomplete")
        if items is not None or returned is None:
            with self.guard("hits"):
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
        observation.given = _FAULT
        record: SearchRecord | None = None
        try:
            record = search_row(observation, status, composed, exc, skip_reason)
        except Exception as fault:  # noqa: BLE001  whatever nobody could foresee
            self.guard.take("row", fault)
            with self.guard("row"):
                record = bare_row(observation, status)
        if record is not None and self._privacy.veils:
            record = self._veiled(record)
        if record is not None:
            refusal: str | None = "fault"
            try:
                admitted = record.admitted  # by value, before anybody else can change what was handed in
                refusal = _INTERRUPTED
                refusal = self.put(record)
                self._answer(observation, record.search_id, refusal, admitted)
            except BaseException as fault:
                # Ctrl-C may come at any line: what `put` has said by then is what is known.
                observation.given = self.receipt(record.search_id, refusal)
                if refusal is _INTERRUPTED or not isinstance(fault, Exception):
                    raise  # what a signal handler of the caller's raised while the sink waited is the caller's
                self.guard.take("row", fault)
            if self._stores_text:
                self._keep_texts(observation, record)
        return record

    def _answer(
        self, observation: Observation, search_id: UUID, refusal: str | None, admitted: Admitted
    ) -> None:
        """What the caller gets, and what votes are checked against."""
        if refusal is None:
            observation.admitted, observation.given = admitted, None
        else:
            observation.given = self.receipt(search_id, refusal, votable(admitted))
            if observation.given.search_id is None:
                return
        self.known.remember(search_id, admitted)

    def _veiled(self, record: SearchRecord) -> SearchRecord | None:
        """As it is kept at this level of privacy; a record that cannot be veiled is not kept."""
        with self.guard("privacy"):
            return self._privacy.of_search(record)
        return None

    def receipt(self, search_id: UUID, refusal: str | None, hits: Votable = ()) -> Receipt:
        """What the caller gets for a record that `put` answered with `refusal`."""
        if refusal is None:
            return Receipt(search_id=search_id, status=self.kept_as, hits=hits)
        if refusal in _UNKNOWN:
            return Receipt(search_id=search_id, status="unknown", reason=refusal, hits=hits)
        return Receipt(search_id=None, status="refused", reason=refusal)


def _span_facts(observation: Observation) -> SpanFacts:
    flags: set[str] = set()  # the row flags these; the span only must not break
    corpus, surface, *_ = circumstances(observation, flags)
    top_k = sanitise.count(observation.top_k, flags)
    return SpanFacts(
        observation.search_id, observation.opening.framework, corpus, surface, top_k, observation.start_ns
    )
