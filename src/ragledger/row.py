"""The row of a search, from its observation: everything that was said by others made fit for its column.

May raise for what nobody could foresee; the recorder then falls back on `bare_row`.
"""

from __future__ import annotations

from typing import Any, TypeAlias, get_args

from . import sanitise
from .composition import Composed
from .faults import error_origin, error_type
from .model import ActorKind, SearchRecord, Status
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
_Columns: TypeAlias = "tuple[Any, ...]"
"""Some columns that stand beside each other."""
_FINE: _Columns = ("ok", None, None, None, False, None)


def search_row(
    observation: Observation,
    status: Status,
    composed: Composed,
    exc: BaseException | None,
    skip_reason: str | None,
) -> SearchRecord:
    """The row of a search that has ended."""
    flags, opening, frozen = observation.flags, observation.opening, observation.weights
    # Every search comes here: columns that are nearly always the same come in groups that were made once. What may
    # flag something comes before the flags.
    around: _Columns = circumstances(observation, flags)
    outcome = _FINE
    if status != "ok" or observation.degraded_reason is not None:
        outcome = _outcome(observation, status, exc, skip_reason, flags)
    available = observation.vector_available
    if available is not None or composed.signals is not None:
        available = _vector_available(available, composed, flags)
    top_k, searched = observation.top_k, status == "ok"
    shaped: _Columns | None = frozen.columns
    if shaped is None or observation.index_version is not None or observation.embedding_model is not None:
        shaped = _shaped(observation, flags)
    run_id = None if opening.external_run_id is None else text(opening.external_run_id, flags)
    return SearchRecord(  # type: ignore[call-arg]  # a group of no fixed length is taken for all that is left
        observation.search_id, observation.start_ns // 1000, observation.ledger.settings.project,
        *around, opening.framework, text(opening.retriever, flags), *_lineage(observation, flags),
        *outcome, available, _latency_ms(observation, status, flags), None if top_k is None else count(top_k, flags),
        composed.candidate_count if searched else None, composed.admitted_count if searched else None,
        composed.top_candidate_score, composed.top_admitted_score, *shaped, composed.signals,
        _query_key(observation) if observation.ledger.query_keys else None,
        tuple(sorted(flags)) if flags else (), *observation.trace, run_id, composed.hits,
    )  # fmt: skip


def _lineage(observation: Observation, flags: set[str]) -> _Columns:
    """The search around it, the outermost one, how deep; the one that it repeats, the one whose answer was shown again."""
    parent, attempt_of, served_from = (
        observation.parent,
        observation.attempt_of,
        observation.opening.served_from,
    )
    above = None if parent is None else parent.search_id
    if attempt_of is not None or served_from is not None:
        attempt_of, served_from = identifier(attempt_of, flags), identifier(served_from, flags)
    return above, observation.root_id, observation.depth, attempt_of, served_from


def _shaped(observation: Observation, flags: set[str]) -> _Columns:
    """What shaped the ranking: weights and epoch, index version and embedding model, and who read it."""
    frozen = observation.weights
    index_version, embedding_model = (
        _known(observation.index_version, flags),
        _known(observation.embedding_model, flags),
    )
    if not frozen.readable:
        flags.add("weights_unreadable")
    epoch = epoch_of(frozen, index_version, embedding_model)
    return frozen.json, epoch, index_version, embedding_model, text(frozen.extractor, flags)


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


def _outcome(
    observation: Observation,
    status: Status,
    exc: BaseException | None,
    skip_reason: str | None,
    flags: set[str],
) -> _Columns:
    """Status, reason of a skip, type and origin of an error; degraded, and why."""
    reason = observation.degraded_reason
    return (
        status,
        (text(skip_reason, flags) or "unknown") if status == "skipped" else None,
        text(error_type(exc), flags) if exc is not None else None,
        error_origin(exc) if exc is not None else None,
        reason is not None,
        text(reason, flags),
    )


def _latency_ms(observation: Observation, status: Status, flags: set[str]) -> float | None:
    start, stop = observation.start_ticks, observation.stop_ticks
    if status == "skipped" or observation.opening.served_from is not None:
        return None  # no search took this time
    if start is not None and stop is not None:
        return (stop - start) / 1e6 if stop > start else 0.0
    flags.add("incomplete")
    return None


def _vector_available(said: Any, composed: Composed, flags: set[str]) -> bool | None:
    """Dense retrieval answered: true; the embedding failed: false; no vector signal, or unknowable: null."""
    if said is not None and (said := sanitise.truth(said, flags)) is not None:
        return said
    vector = composed.signals.get("vector") if composed.signals else None
    return True if vector is not None and vector.count else None
