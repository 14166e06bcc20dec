"""One call of a retriever as one search per ledger: who records, under which marks, and how it ended.

Runs in the caller's thread before and after every retriever call. `begin` never raises; what it gives back
never does either, unless a ledger is strict.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragledger import sanitise
from ragledger.attempts import Asked
from ragledger.extraction import Call, Reading
from ragledger.observation import Observation, Opening, open_observation
from ragledger.registry import ledger_named
from ragledger.scope import entered, scope
from ragledger.weights import UNREADABLE, declared

from . import extract
from .installed import distinct, mark_of
from .marks import LEDGER, WEIGHTS, said_by, said_for_call
from .places import asked_again, places
from .weights import read

if TYPE_CHECKING:
    from ragledger import Ledger

    from .installed import State

__all__ = ["Search", "begin"]

_logger = logging.getLogger(__name__)
_EMBEDDING_CALLS = frozenset({"embed_query", "aembed_query"})
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

    def asked(self) -> Asked | None:
        """For attempts: the retriever, the query and the runs around it."""
        if not isinstance(self.input, str):
            return None
        return Asked(self.instance, self.input, places(self.config), asked_again(self.config))


class Search:
    """The open searches of one call, one per ledger: nearly always one."""

    __slots__ = ("_dense", "_observations", "_scope", "ended")

    def __init__(self, within: AbstractContextManager[None] | None, dense: bool) -> None:  # noqa: FBT001  once a search
        self.ended = False
        self._observations: list[Observation] = []
        self._scope = within
        self._dense = dense

    def open(self, ledger: Ledger, opening: Opening) -> None:
        """Starts the search in one more ledger."""
        observation = ledger.recorder.open(opening)
        if isinstance(observation, Observation):
            self._observations.append(observation)

    def abandon(self) -> None:
        """Leaves nothing open, whatever happened (Ctrl-C, a fault under a strict ledger). Safe after the end."""
        for observation in reversed(self._observations):
            observation.abandon()
        self._leave_scope()

    def finish(self, result: Any) -> None:
        """The retriever gave this to its caller."""
        for observation in self._observations:
            observation.stop()
        try:
            for observation in reversed(self._observations):
                if self._dense and observation.vector_available is None:
                    observation.vector_available = True
                _finish(observation, result)
            self.ended = True
        finally:
            self._leave_scope()

    def fail(self, exc: BaseException) -> None:
        """The retriever raised, or was cancelled."""
        for observation in self._observations:
            observation.stop()
        failed_embedding = self._dense and _in_embedding(exc)
        try:
            for observation in reversed(self._observations):
                if failed_embedding and observation.vector_available is None:
                    observation.vector_available = False
                if observation.ledger.tells_text:
                    _tell(observation, ())
                observation.fail(exc)
            self.ended = True
        finally:
            self._leave_scope()

    def _leave_scope(self) -> None:
        if self._scope is not None:
            within, self._scope = self._scope, None
            within.__exit__(None, None, None)


def _finish(observation: Observation, result: Any) -> None:
    returned = None  # what cannot be read is unknown, not empty
    try:
        returned = extract.read(result, observation)
        if observation.ledger.tells_text:
            _tell(observation, result)
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        observation.ledger.guard.take("langchain.extract", fault)
    finally:
        observation.finish(returned)


def _tell(observation: Observation, result: Any) -> None:
    """The texts of the search for its span, where an application wants them there."""
    with observation.ledger.guard("langchain.text"):
        query = getattr(observation.opening, "input", None)
        items = result if isinstance(result, (list, tuple)) else ()
        texts = [getattr(item, "page_content", item) for item in items]
        observation.tell(
            query=query if isinstance(query, str) else None,
            chunks=[text if isinstance(text, str) else None for text in texts],
        )


def _in_embedding(exc: BaseException) -> bool:
    """Whether the exception came out of a call that embeds the query: then dense retrieval had no answer."""
    trace = exc.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name in _EMBEDDING_CALLS:
            return True
        trace = trace.tb_next
    return False


def begin(
    state: State, me: Any, name: str, retriever: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Search | None:
    """Opens the searches of this call; None when nobody observes it, or when another wrapper records it.

    An override that calls `super()` goes through two wrappers: the one that the class resolves to records, and the
    other passes through. Where the class resolves to a function that we never saw, the one that is reached does.
    """
    asked = args[0] if args else kwargs.get("input", kwargs)
    try:
        marks = _marks(retriever)
        ledgers = _observers(state, me, name, retriever, asked, marks)
        if not ledgers:
            return None
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        state.guard.take("langchain.begin", fault)
        return None
    try:
        config = args[1] if len(args) > 1 else kwargs.get("config")
        call = Call(_own_arguments(kwargs), name == "ainvoke") if kwargs else _PLAIN_CALLS[name]
        return _open(ledgers, retriever, asked, call, marks, config)
    except Exception as fault:  # noqa: BLE001  the same
        ledgers[0].guard.take("langchain.begin", fault)
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


def _marks(retriever: Any) -> Mapping[str, Any]:
    metadata = getattr(retriever, "metadata", None)
    return metadata if isinstance(metadata, dict) else _NOTHING


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
        _warn_once(name)
    if enclosing is None:
        return everywhere
    found = list(everywhere)
    outer: Observation | None = enclosing
    while outer is not None:
        if not outer.closed:
            found.append(outer.ledger)
        outer = outer.outer
    return distinct(found)


def _warn_once(name: str) -> None:
    if name not in _missing and len(_missing) < _MOST_WARNINGS:
        _missing.add(name)
        _logger.warning(
            "ragledger: a retriever is marked for ledger %s, which is not open in this process", name
        )


def _open(
    ledgers: tuple[Ledger, ...],
    retriever: Any,
    asked: Any,
    call: Call,
    marks: Mapping[str, Any],
    config: Any,
) -> Search:
    reading = _read(ledgers[0], retriever, call, marks)
    said = said_for_call(config)
    opening = _Opening(
        framework="langchain",
        retriever=type(retriever).__name__,
        weights=reading.weights,
        top_k=reading.top_k,
        said={**said_by(marks), **said} if marks else said,
        external_run_id=_run_id(call.kwargs["run_id"]) if "run_id" in call.kwargs else None,
        instance=retriever,
        input=asked,
        config=config,
    )
    # What the config of a call says holds for everything below it, as `ragledger.context` does.
    within = entered(dict(said)) if said else None
    if within is not None:
        within.__enter__()
    search = Search(within, dense=bool(reading.dense))
    try:
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
        stated = marks.get(WEIGHTS)
        if stated is None:
            return reading
        top_k = next((stated[key] for key in _TOP_K_NAMES if key in stated), reading.top_k)
        return reading._replace(weights=declared(dict(stated)), top_k=top_k)
    except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
        ledger.guard.take("langchain.weights", fault)
    return Reading(UNREADABLE)


def _run_id(given: Any) -> str | None:
    """The `run_id` of the call. One in the config does not count: retrievers ignore it."""
    if given is None:
        return None
    return str(given) if isinstance(given, UUID) else sanitise.text(given, set())
