"""One call of a retriever as one search per ledger: who records, under which marks, and how it ended.

Runs in the caller's thread before and after every retriever call. `begin` never raises; what it gives back
never does either, unless a ledger is strict.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from ragledger import sanitise
from ragledger.attempts import Asked
from ragledger.extraction import Call, Reading
from ragledger.model import Candidate, Returned
from ragledger.observation import Observation, Opening, open_observation
from ragledger.registry import ledger_named
from ragledger.scope import entered, scope
from ragledger.unshown import unshown
from ragledger.weights import UNREADABLE, declared

from . import extract, reranking
from .installed import distinct, mark_of, place_of
from .listening import Heard, listen_to
from .marks import LEDGER, SCORES, WEIGHTS, said_by, said_for_call
from .nesting import Admission, Members, fusion_for, items_of, tag_of
from .places import asked_again, places
from .weights import read

if TYPE_CHECKING:
    from ragledger import Ledger

    from .installed import State

__all__ = ["Search", "begin", "open_search", "search_around", "warn_once", "with_stated"]

_logger = logging.getLogger(__name__)
_TOP_K_NAMES = ("top_k", "k", "limit", "similarity_top_k")
_NOTHING: Mapping[str, Any] = {}
_PLAIN_CALLS = {"invoke": Call(_NOTHING, asynchronous=False), "ainvoke": Call(_NOTHING, asynchronous=True)}
_MOST_WARNINGS = 100
_missing: set[str] = set()


class _Opening(Opening, frozen=True, kw_only=True):
    """Remembers which call it is, so that an `ainvoke` that calls `self.invoke` is one search."""

    instance: Any
    input: Any
    config: Any
    search: Search

    def asked(self) -> Asked | None:
        """For attempts: the retriever, the query and the runs around it."""
        if not isinstance(self.input, str):
            return None
        return Asked(self.instance, self.input, places(self.config), asked_again(self.config))


@unshown
class Search(msgspec.Struct, eq=False):
    """The open searches of one call, one per ledger: nearly always one."""

    retriever: Any
    reading: Reading
    _scope: AbstractContextManager[None] | None
    ended: bool = False
    member: int | None = None
    """Of a search that fuses: which of its members this is."""
    heard: Heard | None = None
    observations: list[Observation] = []

    def open(self, ledger: Ledger, opening: _Opening) -> None:
        """Starts the search in one more ledger."""
        observation = ledger.recorder.open(opening)
        if isinstance(observation, Observation):
            self.observations.append(observation)
            if observation.parent is not None:
                self.member = tag_of(opening.config)
            if self.reading.members:
                with ledger.guard("langchain.nesting"):
                    observation.fusion = fusion_for(self.retriever, self.reading)
                    if observation.narration is not None and isinstance(observation.fusion, Admission):
                        reranking.listen(self.retriever)

    def is_in(self, ledger: Ledger) -> bool:
        """Whether this ledger has a row of it."""
        return any(place_of(each.ledger) == place_of(ledger) for each in self.observations)

    def abandon(self) -> None:
        """Leaves nothing open, whatever happened (Ctrl-C, a fault under a strict ledger). Safe after the end."""
        for observation in reversed(self.observations):
            observation.abandon()
        self._leave_scope()
        self._let_go()
        self.observations.clear()

    def finish(self, result: Any) -> None:
        """The retriever gave this to its caller."""
        for observation in self.observations:
            observation.stop()
        dense = self.reading.dense
        try:
            for observation in reversed(self.observations):
                if dense and observation.vector_available is None:
                    observation.vector_available = True
                self._finish(observation, result)
            self.ended = True
        finally:
            if self._scope is not None:
                self._leave_scope()
        if self.heard is not None or self.reading.members:
            self._let_go()
        self.observations.clear()  # its opening leads back here

    def fail(self, exc: BaseException) -> None:
        """The retriever raised, or was cancelled."""
        for observation in self.observations:
            observation.stop()
        try:
            for observation in reversed(self.observations):
                if observation.ledger.tells_text:
                    _tell(observation, ())
                observation.fail(exc)
            self.ended = True
        finally:
            self._leave_scope()
        if self.heard is not None or self.reading.members:
            self._let_go()
        self.observations.clear()  # its opening leads back here

    def _finish(self, observation: Observation, result: Any) -> None:
        returned = None  # what cannot be read is unknown, not empty
        try:
            returned = extract.read(result, observation)
            if observation.ledger.tells_text:
                _tell(observation, result)
            if observation.parent is not None or observation.fusion is not None or self.heard is not None:
                with observation.ledger.guard("langchain.nesting"):
                    returned = self._hand_over(observation, result, returned)
        except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
            observation.ledger.guard.take("langchain.extract", fault)
        finally:
            observation.finish(returned)

    def _hand_over(
        self, observation: Observation, result: Any, returned: list[Candidate] | Returned | None
    ) -> list[Candidate] | Returned | None:
        """What members answered into this search, and this answer to the search around it."""
        heard, fusion, parent = self.heard, observation.fusion, observation.parent
        if heard is not None and not observation.scored:
            observation.candidates(*heard.candidates(observation, returned, self.reading.signal))
        if isinstance(fusion, Members) and not observation.scored:
            if isinstance(fusion, Admission) and (items := items_of(result, returned)) is not None:
                returned = fusion.identified(items)
            if (items := items_of(result, returned)) is not None:
                returned = fusion.own_scores(items)
                if found := fusion.candidates(zip(result, returned, strict=True)):
                    observation.candidates(*found)
            if fusion.repeats:
                observation.flag("duplicate_hit")
        around = parent.fusion if parent is not None else None
        if isinstance(around, Members) and (items := items_of(result, returned)) is not None:
            scores = {item.chunk_id: item for item in observation.scored}
            around.answer(
                self.retriever, self.member, _with_scores(items, scored=scores) if scores else items
            )
        return returned

    def _let_go(self) -> None:
        """Drops texts that items were matched by."""
        self.heard = None
        for observation in self.observations:
            observation.fusion = None

    def _leave_scope(self) -> None:
        if self._scope is not None:
            within, self._scope = self._scope, None
            within.__exit__(None, None, None)


def _with_scores(
    items: Iterator[tuple[Any, Candidate]], *, scored: Mapping[str | None, Candidate]
) -> Iterator[tuple[Any, Candidate]]:
    """The scores that the search itself did not return with its items."""
    for item, candidate in items:
        own = scored.get(candidate.chunk_id)
        if own is None or (candidate.score is not None and not own.outranks(candidate)):
            yield item, candidate
        else:
            yield item, msgspec.structs.replace(candidate, score=own.score, score_kind=own.score_kind)


def _tell(observation: Observation, result: Any) -> None:
    """The texts of the search, where an application wants them; asked only then."""
    with observation.ledger.guard("langchain.text"):
        query = getattr(observation.opening, "input", None)
        items = result if isinstance(result, (list, tuple)) else ()
        texts = [getattr(item, "page_content", item) for item in items]
        observation.tell(
            query=query if isinstance(query, str) else None,
            chunks=[text if isinstance(text, str) else None for text in texts],
        )


def begin(
    state: State, me: Any, name: str, retriever: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Search | None:
    """Opens the searches of this call; None when nobody observes it, or when another wrapper records it.

    An override that calls `super()` goes through two wrappers: the one that the class resolves to records, and the
    other passes through. Where the class resolves to a function that we never saw, the one that is reached does.
    """
    asked = args[0] if args else kwargs.get("input", kwargs)
    guard = state.guard
    try:
        marks = getattr(retriever, "metadata", None)
        if not isinstance(marks, dict):
            marks = _NOTHING
        ledgers = _observers(state, me, name, retriever, asked, marks)
        if not ledgers:
            return None
        guard = ledgers[0].guard
        config = args[1] if len(args) > 1 else kwargs.get("config")
        call, run_id = _PLAIN_CALLS[name], None
        if kwargs:
            call = Call(_own_arguments(kwargs), name == "ainvoke")
            run_id = _run_id(kwargs["run_id"]) if "run_id" in kwargs else None
        reading = _read(ledgers[0], retriever, call, marks)
        return open_search(ledgers, retriever, asked, reading, marks, said_for_call(config), run_id, config)
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        guard.take("langchain.begin", fault)
        return None


def _observers(
    state: State, me: Any, name: str, retriever: Any, asked: Any, marks: Mapping[str, Any]
) -> tuple[Ledger, ...]:
    """The ledgers that get this call; none when another wrapper of the same search records it."""
    resolved = getattr(type(retriever), name)
    if resolved is not me and (mark := mark_of(resolved)) is not None and mark.wrapper is not me:
        return ()
    enclosing = open_observation()
    ledgers = _ledgers(state, marks.get(LEDGER), enclosing) if marks or enclosing else state.everywhere
    if not ledgers or scope().suppressed:
        return ()
    if enclosing is not None:
        opening = enclosing.opening
        if type(opening) is _Opening and opening.instance is retriever and opening.input is asked:
            return ()
    return ledgers


def search_around() -> Search | None:
    """The innermost open search of ours; None when it is somebody else's, or there is none."""
    enclosing = open_observation()
    opening = enclosing.opening if enclosing is not None else None
    return opening.search if type(opening) is _Opening else None


def _own_arguments(kwargs: dict[str, Any]) -> Mapping[str, Any]:
    """What the call says to the retriever itself. The query is nobody's business."""
    return {key: value for key, value in kwargs.items() if key not in {"input", "config"}}


def _ledgers(state: State, name: str | None, enclosing: Observation | None) -> tuple[Ledger, ...]:
    """The instrumentor's ledgers, and the retriever's own, or else those of the searches that it runs inside of."""
    everywhere = state.everywhere
    if name is not None:
        own = ledger_named(name)
        if own is not None:
            return distinct((own, *everywhere)) if everywhere else (own,)
        warn_once(name)
    if enclosing is None:
        return everywhere
    found = list(everywhere)
    outer: Observation | None = enclosing
    while outer is not None:
        if not outer.closed:
            found.append(outer.ledger)
        outer = outer.outer
    return distinct(found)


def warn_once(name: str) -> None:
    """Says that a marked retriever or store is not recorded, because its ledger is not here."""
    if name not in _missing and len(_missing) < _MOST_WARNINGS:
        _missing.add(name)
        _logger.warning(
            "ragledger: a retriever or store is marked for ledger %s, which is not open in this process", name
        )


def open_search(  # noqa: PLR0913  the parts of one call
    ledgers: tuple[Ledger, ...],
    retriever: Any,
    asked: Any,
    reading: Reading,
    marks: Mapping[str, Any],
    said: Mapping[str, Any],
    run_id: str | None = None,
    config: Any = None,
) -> Search:
    """Opens the searches of a call, one per ledger."""
    # What the config of a call says holds for everything below it, as `ragledger.context` does.
    within = entered(dict(said)) if said else None
    search = Search(retriever, reading, within)
    opening = _Opening(
        framework="langchain",
        retriever=type(retriever).__name__,
        weights=reading.weights,
        top_k=reading.top_k,
        said={**said_by(marks), **said} if marks else said,
        external_run_id=run_id,
        instance=retriever,
        input=asked,
        config=config,
        search=search,
    )
    if within is not None:
        within.__enter__()
    try:
        if reading.score_kind is not None or SCORES in marks:
            with ledgers[0].guard("langchain.scores"):
                search.heard = listen_to(retriever)
        for ledger in ledgers:
            search.open(ledger, opening)
    except BaseException:
        search.abandon()
        raise
    return search


def _read(ledger: Ledger, retriever: Any, call: Call, marks: Mapping[str, Any]) -> Reading:
    """The weights in force, declared ones first. What cannot be read is said to be unreadable."""
    try:
        reading = read(retriever, call)
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        ledger.guard.take("langchain.weights", fault)
        reading = Reading(UNREADABLE)
    return with_stated(ledger, reading, marks) if marks else reading


def with_stated(ledger: Ledger, reading: Reading, marks: Mapping[str, Any]) -> Reading:
    """What was declared wins, also where the rest could not be read."""
    stated = marks.get(WEIGHTS)
    if stated is not None:
        with ledger.guard("langchain.weights"):
            top_k = next((stated[key] for key in _TOP_K_NAMES if key in stated), reading.top_k)
            return reading._replace(weights=declared(dict(stated)), top_k=top_k)
    return reading


def _run_id(given: Any) -> str | None:
    """The `run_id` of the call. One in the config does not count: retrievers ignore it."""
    if given is None:
        return None
    return str(given) if isinstance(given, UUID) else sanitise.text(given, set())
