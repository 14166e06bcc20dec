"""The ledger: what an application holds. Searches are recorded, votes are checked, nothing of it breaks the caller."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from uuid import UUID

from . import feedback, sanitise
from .errors import DatabaseUnavailable, MalformedReference, UnknownSearch
from .ids import fingerprint, new_id, normalised
from .known import FoundSearches
from .model import AssessmentRecord, Candidate, DeliveryRecord, FeedbackRecord, Receipt, Record, Votable
from .observation import NULL, NullObservation, Observation, Opening
from .privacy import Privacy
from .registry import register, unregister
from .scope import scope as current_scope
from .texts import Told
from .weights import UNKNOWN, UNREADABLE, canonical_json, declared

if TYPE_CHECKING:
    from .assessments import Assessment
    from .parts import Parts
    from .settings import Settings

__all__ = ["Ledger"]


class Ledger:
    """Open one with `ragledger.open()`; share it between threads, tasks and (after a fork) processes."""

    def __init__(self, settings: Settings, parts: Parts, *, name: str = "default") -> None:
        self.settings = settings
        self.name = name
        self.guard = parts.guard
        self.privacy = Privacy(settings.privacy, parts.key)
        self.narrates_text: bool = parts.narrator.wants_text
        self.stores_text = settings.store_text
        self.tells_text = self.narrates_text or self.stores_text
        """Whether an adapter has anybody to hand text to: asked first, so that nobody reads it in vain."""
        self.recorder = parts.recorder_for(self)
        self.chunk_id_key = settings.chunk_id_key
        self.document_id_keys = settings.document_id_keys
        self.source_kind_key = settings.source_kind_key
        self.query_keys = settings.query_keys
        self.content_keys = settings.content_keys
        self._parts = parts
        self._found = FoundSearches()
        self._key = parts.key
        self._finalizer = weakref.finalize(self, parts.close, settings.exit_drain_s)
        register(self)
        _every_ledger.add(self)

    # --- searches ------------------------------------------------------------------------------------------

    def search(
        self,
        *,
        weights: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        retriever: str | None = None,
        attempt_of: UUID | None = None,
        served_from: UUID | None = None,
        query: str | None = None,
        **said: str,
    ) -> AbstractContextManager[Observation | NullObservation]:
        """Records the search that the block makes.

        Args:
            weights: everything that shapes the ranking, copied by value.
            attempt_of: the search that failed and that this one repeats; of several, the first.
            served_from: the earlier search whose answer is shown again.
            query: what was asked, for `query_key` where keys of queries are switched on; the text itself is kept only
                with `store_text`.
            said: corpus, surface, session_id, actor, index_version, embedding_model; wins over `context`.

        Inside, hand over what was found with `search.candidates(...)`; afterwards read `search.receipt`.
        """
        _check_names(said)
        opening = Opening(
            framework="application",
            retriever=retriever,
            weights=self._declared(weights),
            top_k=top_k,
            said=said,
            attempt_of=attempt_of,
            served_from=served_from,
            query_key=self.query_key(query),
        )
        return self._recorded(opening, query if self.stores_text else None)

    def served(
        self,
        search: Receipt | UUID | str,
        *,
        hits: Sequence[tuple[int, str | None]] | None = None,
        **said: str,
    ) -> Receipt:
        """Records that a cached answer was shown again: a search of its own, whose hits can be voted on.

        Args:
            search: the receipt or the id of the search that made the answer.
            hits: what it returned, as in its receipt; not needed for a receipt and for a late search of this process.
                Where it is not known either, what was shown is unknown.
            said: as for `search`.

        Raises:
            MalformedReference: the id is not one.

        The answer of a search that was not recorded is refused as `not_recorded`: there is nothing to lead back to.
        """
        if isinstance(search, Receipt):
            if search.search_id is None:
                return Receipt(search_id=None, status="refused", reason="not_recorded")
            served_from, known = search.search_id, search.hits
        else:
            served_from = feedback.parse_reference(search, None, 1).search_id
            known = self.recorder.known.hits_of(served_from) or ()
        # A search that never told its hits has none in its receipt either: that is unknown, not empty.
        shown = hits if hits is not None else known or None
        _check_names(said)
        with self._recorded(Opening(framework="application", said=said, served_from=served_from)) as again:
            if shown is not None:
                again.candidates(*[Candidate(chunk_id) for _, chunk_id in shown])
        return again.receipt

    def skip(
        self, *, reason: str, weights: Mapping[str, Any] | None = None, top_k: int | None = None, **said: str
    ) -> Receipt:
        """Records that a retrieval was due and not called, and why."""
        _check_names(said)
        opening = Opening(framework="application", weights=self._declared(weights), top_k=top_k, said=said)
        return self.recorder.skip(opening, reason)

    def derive_id(self, content: str) -> str:
        """An id for a chunk that has none: a keyed hash of its content, the same on every host with the same key."""
        return fingerprint(content, self._key).hex()

    def query_key(self, query: Any) -> bytes | None:
        """A keyed fingerprint of a question, the same when it is asked again. None unless `query_keys` is switched on."""
        if not self.query_keys or not isinstance(query, str):
            return None
        with self.guard("query_key"):
            return fingerprint(normalised(query), self._key)
        return None

    def content_key(self, content: Any) -> bytes | None:
        """A keyed fingerprint of a chunk's content, the same after a reindex that keeps the text.

        None unless `content_keys` is switched on.
        """
        if not self.content_keys or not isinstance(content, str):
            return None
        with self.guard("content_key"):
            return fingerprint(content, self._key)
        return None

    # --- what becomes known later --------------------------------------------------------------------------

    def vote(
        self,
        search_id: UUID | str,
        chunk_id: str | None = None,
        outcome: str | None = None,
        *,
        rank: int | None = None,
        actor: str | None = None,
    ) -> Receipt:
        """Judges a hit that a search returned. The latest vote of an actor on a hit counts.

        Raises:
            MalformedReference: the search id, the hit, the outcome or the actor is not of the right form.
            UnknownSearch: no such search was recorded.
            HitNotReturned: the search exists and did not return this hit.

        When it cannot be checked now it is kept as `pending`. Nothing is stored when it is refused.
        """
        reference = self._reference(search_id, chunk_id, rank)
        return self._give(reference, "judged", feedback.parse_outcome(outcome), actor)

    def accessed(
        self,
        search_id: UUID | str,
        chunk_id: str | None = None,
        *,
        rank: int | None = None,
        actor: str | None = None,
    ) -> Receipt:
        """Notes that somebody opened the full content of a hit. Raises as `vote` does."""
        return self._give(self._reference(search_id, chunk_id, rank), "accessed", None, actor)

    def votes_at_once(self, search_id: str) -> bool:
        """Whether a vote for it waits for nothing, so that an event loop may give it: hits known here, and a journal.

        A malformed id waits for nothing either: it is refused.
        """
        settings = self.settings
        # A vote's span asks the table for the span of the search.
        if (
            self.recorder.kept_as != "journalled"
            or settings.journal_fsync == "always"
            or settings.span_feedback
        ):
            return False
        parsed = sanitise.identifier(search_id, set())
        return parsed is None or self._hits_of(parsed) is not None

    def deliver(
        self,
        search_id: UUID,
        hit_ranks: Sequence[int],
        *,
        by: str = "application",
        scores: Sequence[float | None] | None = None,
    ) -> Receipt:
        """Notes what finally reached the prompt, as ranks of the search, in that order. The latest wins."""
        flags: set[str] = set()
        if scores is not None and len(scores) != len(hit_ranks):
            raise MalformedReference("scores are as many as hit_ranks, in their order")
        record = DeliveryRecord(
            search_id=feedback.parse_reference(search_id, None, 1).search_id,
            delivery_id=new_id(),
            by=feedback.parse_deliverer(by),
            hit_ranks=tuple(feedback.parse_reference(search_id, None, rank).rank or 1 for rank in hit_ranks),
            scores=tuple(sanitise.number(score, flags) for score in scores) if scores is not None else None,
            delivered_at=self._now_us(),
        )
        return self._keep(record, record.search_id)

    def assess(
        self,
        search_id: UUID,
        name: str | Assessment,
        value: float | None = None,
        *,
        method: str | None = None,
        weights: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Notes a quality signal of a whole search, appended to those noted before.

        Args:
            name: of the signal, or an `Assessment` of `ragledger.assessments`, which says all the rest.
            value: None where it cannot be computed, never 0.
            weights: of a blend, frozen beside its value.

        Raises:
            MalformedReference: the search id is none.
        """
        if not isinstance(name, str):
            name, value, method, weights = name
        flags: set[str] = set()
        record = AssessmentRecord(
            search_id=feedback.parse_reference(search_id, None, 1).search_id,
            assessment_id=new_id(),
            name=sanitise.text(name, flags) or "",
            value=sanitise.number(value, flags),
            method=sanitise.text(method, flags),
            weights=canonical_json(weights) if weights is not None else None,
            assessed_at=self._now_us(),
        )
        return self._keep(record, record.search_id)

    # --- housekeeping --------------------------------------------------------------------------------------

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Waits until what this process has recorded by now is in the table; False when the time is up first."""
        return self._parts.backend.drain(timeout_s)

    def close(self) -> None:
        """Drains for a bounded time; what is left stays in the journal for whoever ships next."""
        unregister(self)
        self._finalizer()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._finalizer.alive

    def facts(self) -> dict[str, Any]:
        """Counters of this process: faults of ours by kind, refusals, what the shipper did."""
        return {"name": self.name, "project": self.settings.project, "faults": dict(self.guard.faults)} | (
            self._parts.backend.facts()
        )

    def __repr__(self) -> str:
        return (
            f"Ledger(name={self.name!r}, project={self.settings.project!r}, schema={self.settings.schema!r})"
        )

    @contextmanager
    def _recorded(
        self, opening: Opening, query: str | None = None
    ) -> Iterator[Observation | NullObservation]:
        observation: Observation | NullObservation = NULL
        handled = sys.exc_info()[1]
        try:
            observation = self.recorder.open(opening)
            if query is not None and isinstance(observation, Observation):
                observation.told = Told(query)
            yield observation
        except BaseException as exc:
            observation.fail(exc, handled)
            raise
        else:
            observation.finish()
        finally:
            handled = None  # its traceback leads back here
            observation.abandon()

    def _declared(self, weights: Mapping[str, Any] | None) -> Any:
        if weights is None:
            return UNKNOWN
        with self.guard("weights"):
            return declared(weights)
        return UNREADABLE

    def _reference(self, search_id: UUID | str, chunk_id: str | None, rank: int | None) -> feedback.Reference:
        """What a vote names, as the table knows it."""
        reference = feedback.parse_reference(search_id, chunk_id, rank)
        return reference._replace(chunk_id=self.privacy.kept_for_vote(reference.chunk_id))

    def _give(self, reference: feedback.Reference, stage: Any, outcome: Any, actor: str | None) -> Receipt:
        kind, name = feedback.parse_actor(actor if actor is not None else current_scope().actor)
        rank = self._checked_rank(reference)
        record = FeedbackRecord(
            search_id=reference.search_id,
            feedback_id=new_id(),
            rank=rank if rank is not None else reference.rank,
            chunk_id=reference.chunk_id if rank is None else None,
            stage=stage,
            outcome=outcome,
            actor_kind=kind,
            actor_id=name,
            given_at=self._now_us(),
            checked=rank is not None,
        )
        receipt = self._keep(record, reference.search_id)
        if receipt.search_id is not None:
            self.recorder.voted(record)
        if rank is None and receipt.status == self.recorder.kept_as:
            return Receipt(search_id=receipt.search_id, status="pending")
        return receipt

    def _hits_of(self, search_id: UUID) -> Votable | None:
        ours = self.recorder.known.hits_of(search_id)
        return ours if ours is not None else self._found.hits_of(search_id)

    def _checked_rank(self, reference: feedback.Reference) -> int | None:
        """The hit's rank; None when it cannot be checked now and may still turn out right."""
        search_id = reference.search_id
        if (hits := self._hits_of(search_id)) is not None:
            return feedback.rank_in(hits, reference)
        now = datetime.fromtimestamp(self._now_us() / 1e6, tz=timezone.utc)
        may_wait = feedback.may_be_ours(search_id, now)
        lookup = self._parts.lookup
        with suppress(DatabaseUnavailable):
            if lookup is None:
                raise DatabaseUnavailable("there is nobody to ask")
            if (hits := lookup.find(search_id)) is not None:
                self._found.remember(search_id, hits)  # one search often has several votes
                return feedback.rank_in(hits, reference)
            deadline_h = self.settings.vote_deadline_h
            may_wait = feedback.may_still_arrive(search_id, now, deadline_h)
        if not may_wait:
            raise UnknownSearch(search_id)
        return None

    def _keep(self, record: Record, search_id: UUID) -> Receipt:
        record = self.privacy.of(record) if self.privacy.veils else record
        return self.recorder.receipt(search_id, self.recorder.put(record))

    def _now_us(self) -> int:
        return self.recorder.clock.wall_ns() // 1000


def _check_names(said: Mapping[str, Any]) -> None:
    # As Python would for a signature that names them all; a misspelt one must not be lost in silence.
    for name in said:
        if name not in _SAID:
            raise TypeError(f"unexpected keyword argument {name!r}; known are {', '.join(sorted(_SAID))}")


_SAID = frozenset({"corpus", "surface", "session_id", "actor", "index_version", "embedding_model"})

# Also those that another one of their name hides in the registry.
_every_ledger: weakref.WeakSet[Ledger] = weakref.WeakSet()


def _after_fork() -> None:
    for ledger in list(_every_ledger):
        ledger._parts.backend.after_fork()  # noqa: SLF001  the module's own class


os.register_at_fork(after_in_child=_after_fork)
