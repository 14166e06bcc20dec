"""The row of a search, from its observation: everything that was said by others made fit for its column.

May raise for what nobody could foresee; the recorder then falls back on `bare_row`.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from . import sanitise
from .composition import Composed
from .faults import error_origin, error_type
from .model import ActorKind, ErrorOrigin, SearchRecord, Status
from .observation import Observation, actor_of
from .weights import UNREADABLE, epoch_of, freeze

__all__ = ["bare_row", "search_row"]

# For a bare row: what it does not say is unknown.
_UNSAID: dict[str, Any] = {
    name: None for name in SearchRecord.__struct_fields__ if name not in {"project", "status", "flags"}
}
_UNREADABLE = freeze(UNREADABLE)


def search_row(
    observation: Observation,
    status: Status,
    composed: Composed,
    exc: BaseException | None,
    skip_reason: str | None,
) -> SearchRecord:
    """The row of a search that has ended."""
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
        observation.search_id, observation.start_ns // 1000, observation.ledger.settings.project,
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
        "epoch": epoch_of(_UNREADABLE, index_version=None, embedding_model=None),
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
