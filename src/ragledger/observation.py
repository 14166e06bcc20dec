"""The lifecycle of one search: opened, entered, left, finished once.

An observation knows its place (parent, root, depth, per ledger), gathers what the retriever's own code hands over,
and hands a finished record to its recorder. Nothing here raises into the caller: faults go to the guard.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from . import sanitise
from .embedding import embedding_failed
from .model import Candidate, Receipt, Returned, Status, votable
from .ports import TraceIds
from .scope import scope as current_scope
from .texts import Told
from .unshown import unshown
from .weights import UNKNOWN, UNREADABLE, FrozenWeights, Weights, declared, freeze

if TYPE_CHECKING:
    from .attempts import Asked
    from .fusion import Fusion
    from .ledger import Ledger
    from .model import Admitted, SearchRecord
    from .ports import Narration
    from .recorder import Recorder
    from .scope import Scope

__all__ = ["NULL", "NullObservation", "Observation", "Opening", "current", "open_observation"]


@unshown
class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a search before it runs. `said` wins over the scope: the `ragledger.*` keys of the call."""

    framework: str
    retriever: str | None = None
    weights: Weights = UNKNOWN
    top_k: Any = None
    said: Mapping[str, Any] = {}
    external_run_id: str | None = None
    query_key: bytes | None = None
    attempt_of: UUID | None = None
    served_from: UUID | None = None
    flags: tuple[str, ...] = ()

    def asked(self) -> Asked | None:
        """Who was asked what, for telling a second attempt from another search. None: nobody can tell."""
        return None


_NOTHING_TOLD = Told()
_ENDED = Opening(framework="")
_MOST_FLAGS = 64
_NO_TRACE = TraceIds()
_OPEN = Receipt(search_id=None, status="disabled", reason="still_open")
_open: contextvars.ContextVar[Observation | None] = contextvars.ContextVar("ragledger.open", default=None)


@unshown
class Observation(msgspec.Struct, eq=False):
    """One search being recorded.

    The caller's code uses `candidates`, `degrade` and `declare` while it is open and reads `receipt` afterwards;
    adapters use `enter`, `stop`, `finish` and `fail`. A struct, because that sets what every search begins with at once.
    """

    _recorder: Recorder
    opening: Opening
    scope: Scope
    search_id: UUID
    root_id: UUID
    weights: FrozenWeights
    flags: set[str]
    start_ns: int
    top_k: Any
    index_version: Any
    embedding_model: Any
    attempt_of: UUID | None
    ledger: Ledger
    outer: Observation | None = None
    parent: Observation | None = None
    depth: int = 0
    attempt_reason: str | None = None
    scored: list[Candidate] = []
    answered: bool = False
    degraded_reason: str | None = None
    vector_available: bool | None = None
    dense: bool | None = None
    """What embeddings and searches inside of this one came to."""
    given: Receipt | None = _OPEN
    admitted: Admitted = ()
    closed: bool = False
    fusion: Fusion | None = None
    """Of a retriever that fuses: its members hand their answers over here."""
    narration: Narration | None = None
    trace: TraceIds = _NO_TRACE
    told: Told | None = None
    """Set by `tell` alone, where text is kept."""
    start_ticks: int | None = None
    stop_ticks: int | None = None
    _token: contextvars.Token[Observation | None] | None = None

    @classmethod
    def begun(cls, recorder: Recorder, opening: Opening, scope: Scope) -> Observation:
        """A search that opens here and now."""
        search_id = recorder.new_id()
        try:
            start_ns = recorder.clock.wall_ns()
        except Exception as fault:  # noqa: BLE001  a clock of the application's may raise anything
            start_ns = (search_id.int >> 80) * 1_000_000  # a UUIDv7 says when it was made
            recorder.guard.take("clock", fault)
        said = opening.said
        observation = cls(
            recorder,
            opening,
            scope,
            search_id,
            search_id,
            freeze(opening.weights),
            set(opening.flags),
            start_ns,
            opening.top_k,
            scope.index_version if not said else _said(said, scope, "index_version"),
            scope.embedding_model if not said else _said(said, scope, "embedding_model"),
            opening.attempt_of,
            recorder.ledger,
        )
        if _open.get() is not None:
            observation.join(open_observation())
        return observation

    def join(self, outer: Observation | None) -> None:
        """Takes its place inside of the search around it. Not of a closed one: each would hold the last."""
        self.outer = outer
        parent = outer.nearest(self.ledger) if outer is not None else None
        if parent is not None:
            self.parent, self.root_id, self.depth = parent, parent.root_id, parent.depth + 1

    # --- what the retriever's own code may say -------------------------------------------------------------

    def candidates(self, *candidates: Candidate) -> None:
        """Hands over items with the score of each signal, best first. May be called more than once.

        Called without any, it says that nothing was found; never called, that is unknown.
        """
        self.answered = True
        self.scored.extend(candidates)

    def degrade(self, reason: str, *, vector_available: bool | None = None) -> None:
        """Says that the search did less than it should: the contract's word, and a fact about the provider."""
        self.degraded_reason = reason
        if vector_available is not None:
            self.vector_available = vector_available

    def declare(
        self,
        *,
        weights: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        index_version: str | None = None,
        embedding_model: str | None = None,
    ) -> None:
        """States what shapes the ranking, where no extractor can read it. Declared weights win over read ones."""
        if weights is not None:
            self.weights = freeze(UNREADABLE)
            with self._recorder.guard("weights"):
                self.weights = freeze(declared(weights))
        self.top_k = top_k if top_k is not None else self.top_k
        self.index_version = index_version if index_version is not None else self.index_version
        self.embedding_model = embedding_model if embedding_model is not None else self.embedding_model

    def tell(self, *, query: str | None = None, chunks: Sequence[str | None] = ()) -> None:
        """Hands over text, which goes where that was switched on (docs/privacy.md) and nowhere else.

        The span may have it, and the table `search_texts`; the row never has it.

        Args:
            chunks: the texts of what is returned, in that order.
        """
        if self.ledger.stores_text and not self.closed:
            with self._recorder.guard("texts"):
                self.told = (self.told or _NOTHING_TOLD).and_then(query, chunks)
        if self.narration is not None and self.ledger.narrates_text:
            try:
                self.narration.hear(query, chunks)
            except Exception as fault:  # noqa: BLE001  a tracing SDK may raise anything
                self._recorder.guard.take("span", fault)

    def flag(self, word: str) -> None:
        """Notes what our own recording could not do."""
        if (text := sanitise.text(word, self.flags)) and len(self.flags) < _MOST_FLAGS:
            self.flags.add(text)

    # --- lifecycle, for adapters ---------------------------------------------------------------------------

    @property
    def receipt(self) -> Receipt:
        """What the caller gets. Of a search that was kept as usual it is made for the first who asks."""
        if self.given is None:
            kept_as, hits = self._recorder.kept_as, votable(self.admitted)
            self.given = Receipt(search_id=self.search_id, status=kept_as, hits=hits)
        return self.given

    @property
    def elapsed_ns(self) -> int | None:
        """From start to stop; None where the clock failed."""
        if self.start_ticks is None or self.stop_ticks is None:
            return None
        return max(0, self.stop_ticks - self.start_ticks)

    def nearest(self, ledger: object) -> Observation | None:
        """This observation or the closest enclosing one that is still open and belongs to `ledger`."""
        found: Observation | None = self
        while found is not None and (found.closed or found.ledger is not ledger):
            found = found.outer
        return found

    def enter(self, narration: Narration | None) -> None:
        """Becomes the open search here; the clock starts as the last act. Whoever calls it abandons it on Ctrl-C."""
        self.narration = narration
        self._token = _open.set(self)
        if narration is not None:
            try:
                self.trace = narration.trace
                narration.attach()
            except Exception as fault:  # noqa: BLE001  a tracing SDK may raise anything
                self._recorder.guard.take("span", fault)
        try:
            self.start_ticks = self._recorder.clock.ticks_ns()
        except Exception as fault:  # noqa: BLE001  a clock of the application's may raise anything
            self._recorder.guard.take("clock", fault)

    def abandon(self) -> None:
        """Whatever happened, it is not the open search any more. Safe after `finish`, and twice."""
        self.closed = True
        self.leave()
        self.end_span(None)  # nobody said how it ended
        self._forget()

    def stop(self) -> None:
        """Stops the clock: what follows is our own work."""
        if self.stop_ticks is None:
            try:
                self.stop_ticks = self._recorder.clock.ticks_ns()
            except Exception as fault:  # noqa: BLE001  a clock of the application's may raise anything
                self._recorder.guard.take("clock", fault)

    def leave(self) -> None:
        """Stops being the open search here. Safe from another context, and twice."""
        token, self._token = self._token, None
        if token is None:
            return
        try:
            _open.reset(token)
        except ValueError:
            pass  # closed from another task; `nearest` skips closed observations
        finally:
            if self.narration is not None:
                self._detach(self.narration)

    def _detach(self, narration: Narration) -> None:
        try:
            narration.detach()
        except Exception as fault:  # noqa: BLE001  a tracing SDK may raise anything
            self._recorder.guard.take("span", fault)

    def end_span(self, record: SearchRecord | None) -> None:
        """Ends the span, once; without a record it says nothing of how the search went."""
        narration, self.narration = self.narration, None
        if narration is not None:
            try:
                row_status = self._recorder.kept_as if self.given is None else self.given.status
                narration.close(record, row_status, self.start_ns + (self.elapsed_ns or 0))
            except Exception as fault:  # noqa: BLE001  a tracing SDK may raise anything
                self._recorder.guard.take("span", fault)

    def finish(self, returned: Iterable[Candidate] | Returned | None = None) -> None:
        """The search came back. `returned` is what its caller gets; None when `candidates` said it all."""
        if not self.closed:
            self._close("ok", returned, None)

    def fail(self, exc: BaseException, handled: BaseException | None = None) -> None:
        """The search raised, or was cancelled. `handled`: what its caller was handling already when it began."""
        if not self.closed:
            self._close("error", (), exc, handled)

    def _close(
        self,
        status: Status,
        returned: Iterable[Candidate] | Returned | None,
        exc: BaseException | None,
        handled: BaseException | None = None,
    ) -> None:
        self.closed = True
        try:
            if self.stop_ticks is None:
                self.stop()
        finally:
            if self._token is not None:
                self.leave()
        if self.parent is not None or exc is not None or self.dense is not None:
            self._say_dense(exc, handled)
        try:
            self._recorder.close(self, status, returned, exc)
        finally:
            self._forget()

    def _forget(self) -> None:
        """Who keeps this one keeps no query and no text."""
        self.opening, self.fusion, self.told = _ENDED, None, None

    def _say_dense(self, exc: BaseException | None, handled: BaseException | None) -> None:
        """Fills in what nobody said, and hands it up: dense retrieval answered around where it did so in here."""
        with self._recorder.guard("row"):
            if self.vector_available is None:
                failed = self.dense is None and isinstance(exc, Exception) and embedding_failed(exc, handled)
                self.vector_available = False if failed else self.dense
            if self.parent is not None and type(self.vector_available) is bool:
                self.parent.dense = self.parent.dense or self.vector_available

    def __bool__(self) -> bool:
        return True


class NullObservation:
    """Stands where nothing is recorded: takes everything, keeps nothing, is false."""

    __slots__ = ()
    receipt = Receipt(search_id=None, status="disabled", reason="not_observed")
    search_id = None

    def candidates(self, *candidates: Candidate) -> None:
        """Keeps nothing."""

    def degrade(self, reason: str, *, vector_available: bool | None = None) -> None:
        """Keeps nothing."""

    def declare(self, **said: Any) -> None:
        """Keeps nothing."""

    def tell(self, *, query: str | None = None, chunks: Sequence[str | None] = ()) -> None:
        """Keeps nothing."""

    def flag(self, word: str) -> None:
        """Keeps nothing."""

    def stop(self) -> None:
        """Keeps nothing."""

    def leave(self) -> None:
        """Keeps nothing."""

    def abandon(self) -> None:
        """Keeps nothing."""

    def finish(self, returned: Iterable[Candidate] | Returned | None = None) -> None:
        """Keeps nothing."""

    def fail(self, exc: BaseException, handled: BaseException | None = None) -> None:
        """Keeps nothing."""

    def __bool__(self) -> bool:
        return False


NULL = NullObservation()


def _said(said: Mapping[str, Any], scope: Scope, name: str) -> Any:
    """What the call says, else the code around it."""
    value = said.get(name)
    return value if value is not None else getattr(scope, name)


def open_observation() -> Observation | None:
    """The innermost search that is still open here, of whatever ledger."""
    found = _open.get()
    while found is not None and found.closed:
        found = found.outer
    return found


def current() -> Observation | NullObservation:
    """The open search, for a custom retriever that hands over its signals; a false stand-in when there is none.

    Under `suppress` there is none: what a retriever says there does not belong to the search around it.
    """
    return (open_observation() or NULL) if not current_scope().suppressed else NULL
