"""The row of a search, from its observation: everything that was said by others made fit for its column.

May raise for what nobody could foresee; the recorder then falls back on `bare_row`.
"""

from __future__ import annotations

from typing import Any, get_args
from uuid import UUID

from . import sanitise
from .composition import Composed
from .faults import error_origin, error_type
from .model import ActorKind, ErrorOrigin, SearchRecord, Status
from .observation import Observation
from .sanitise import count, identifier, text
from .scope import NOTHING_SAID
from .weights import UNREADABLE, epoch_of, freeze

__all__ = ["bare_row", "circumstances", "search_row"]

# For a bare row: what it does not say is unknown.
_UNSAID: dict[str, Any] = {
    name: None for name in SearchRecord.__struct_fields__ if name not in {"project", "status", "flags"}
}
_ACTOR_KINDS: dict[str, ActorKind] = {kind: kind for kind in get_args(ActorKind)}
_UNREADABLE = freeze(UNREADABLE)
_NO_CIRCUMSTANCES: tuple[None, None, None, ActorKind, None] = (None, None, None, "system", None)
_NO_FAILURE = (None, None, None)
_NO_LINEAGE = (None, None, None)


def search_row(
    observation: Observation,
    status: Status,
    composed: Composed,
    exc: BaseException | None,
    skip_reason: str | None,
) -> SearchRecord:
    """The row of a search that has ended."""
    flags, opening, trace = observation.flags, observation.opening, observation.trace
    frozen, parent, degraded = observation.weights, observation.parent, observation.degraded_reason
    # Every search comes here: by position, in as few calls as can be. What may flag something comes before the flags.
    corpus, surface, session_id, actor_kind, actor_id = circumstances(observation, flags)
    skip, error, origin = _NO_FAILURE if status == "ok" else _failure(status, exc, skip_reason, flags)
    available = observation.vector_available
    if available is not None or composed.signals is not None:
        available = _vector_available(available, composed, flags)
    index_version, embedding_model = observation.index_version, observation.embedding_model
    epoch = frozen.epoch
    if index_version is not None or embedding_model is not None:
        index_version, embedding_model = _known(index_version, flags), _known(embedding_model, flags)
        epoch = epoch_of(frozen, index_version, embedding_model)
    top_k, searched = observation.top_k, status == "ok"
    run_id, attempt_of, served_from = _lineage(observation, flags)
    if not frozen.readable:
        flags.add("weights_unreadable")
    return SearchRecord(
        observation.search_id, observation.start_ns // 1000, observation.ledger.settings.project,
        corpus, surface, session_id, actor_kind, actor_id,
        opening.framework, text(opening.retriever, flags),
        None if parent is None else parent.search_id, observation.root_id, observation.depth, attempt_of, served_from,
        status, skip, error, origin, degraded is not None, None if degraded is None else text(degraded, flags),
        available, _latency_ms(observation, status, flags), None if top_k is None else count(top_k, flags),
        composed.candidate_count if searched else None, composed.admitted_count if searched else None,
        composed.top_candidate_score, composed.top_admitted_score,
        frozen.json, epoch, index_version, embedding_model,
        None if frozen.extractor is None else text(frozen.extractor, flags), composed.signals,
        _query_key(observation) if observation.ledger.query_keys else None,
        tuple(sorted(flags)) if flags else (),
        trace.trace_id, trace.span_id, trace.sampled, trace.owner, run_id, composed.hits,
    )  # fmt: skip


def _lineage(observation: Observation, flags: set[str]) -> tuple[str | None, UUID | None, UUID | None]:
    """The framework's run, the search that this one repeats, the one whose answer was shown again."""
    opening, attempt_of = observation.opening, observation.attempt_of
    run_id, served_from = opening.external_run_id, opening.served_from
    if run_id is None and attempt_of is None and served_from is None:
        return _NO_LINEAGE
    return (
        None if run_id is None else text(run_id, flags),
        identifier(attempt_of, flags),
        identifier(served_from, flags),
    )


def _query_key(observation: Observation) -> bytes | None:
    """Of what was asked, as own code says it, or the adapter."""
    opening = observation.opening
    if opening.query_key is not None:
        return opening.query_key
    asked = opening.asked()
    return observation.ledger.query_key(asked.text) if asked is not None else None


def bare_row(observation: Observation, status: Status) -> SearchRecord:
    """What is ours alone, where nothing that was said can be read."""
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
        "epoch": _UNREADABLE.epoch,
        "skip_reason": "unknown" if status == "skipped" else None,
        "degraded": False,
        "hits": (),
    }
    return SearchRecord(
        **(_UNSAID | columns),
        project=observation.ledger.settings.project,
        status=status,
        flags=tuple(sorted(observation.flags)),
    )


def circumstances(
    observation: Observation, flags: set[str]
) -> tuple[str | None, str | None, str | None, ActorKind, str | None]:
    """Corpus, surface, session, actor's kind and id: what adapter and call said, else the code around them."""
    opening, scope = observation.opening, observation.scope
    if not opening.said and scope is NOTHING_SAID:
        return _NO_CIRCUMSTANCES
    said = opening.said.get
    corpus, surface, session_id, actor = said("corpus"), said("surface"), said("session_id"), said("actor")
    actor = scope.actor if actor is None else actor
    return (
        _known(scope.corpus if corpus is None else corpus, flags),
        _known(scope.surface if surface is None else surface, flags),
        _known(scope.session_id if session_id is None else session_id, flags),
        *(("system", None) if actor is None else _actor_of(actor, flags)),
    )


def _actor_of(value: Any, flags: set[str]) -> tuple[ActorKind, str | None]:
    """`human:ana` into its kind and name. What names no known kind is `system`, never invented."""
    if value is None:
        return "system", None
    words = sanitise.text(value, flags)
    if not words:
        return "system", None
    kind, _, name = words.partition(":")
    found = _ACTOR_KINDS.get(kind)
    if found is None:
        flags.add("unknown_actor_kind")
        return "system", words
    return found, name or None


def _known(value: Any, flags: set[str]) -> str | None:
    """Text that says something; nothing is what an empty one says."""
    return None if value is None else text(value, flags) or None


def _failure(
    status: Status, exc: BaseException | None, skip_reason: str | None, flags: set[str]
) -> tuple[str | None, str | None, ErrorOrigin | None]:
    """Reason of a skip, type and origin of an error."""
    return (
        (text(skip_reason, flags) or "unknown") if status == "skipped" else None,
        text(error_type(exc), flags) if exc is not None else None,
        error_origin(exc) if exc is not None else None,
    )


def _latency_ms(observation: Observation, status: Status, flags: set[str]) -> float | None:
    if status == "skipped" or observation.opening.served_from is not None:
        return None  # no search took this time
    start, stop = observation.start_ticks, observation.stop_ticks
    if start is None or stop is None:
        flags.add("incomplete")
        return None
    return (stop - start) / 1e6 if stop > start else 0.0


def _vector_available(said: Any, composed: Composed, flags: set[str]) -> bool | None:
    """Dense retrieval answered: true; the embedding failed: false; no vector signal, or unknowable: null."""
    if said is not None and (said := sanitise.truth(said, flags)) is not None:
        return said
    vector = composed.signals.get("vector") if composed.signals else None
    return True if vector is not None and vector.count else None
