"""The raw rows of one day of a project, put together into searches as measures count them. No rule is left to SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from ragledger.measures.rollup import Counted, CountedHit

__all__ = ["Attempts", "Row", "hits_of", "logical"]

Row = dict[str, Any]
Attempts = dict[UUID, tuple[Any, UUID]]
"""Per first attempt, when and what the last of its group was."""

_USEFUL = frozenset({"relevant", "highly_relevant"})
_TAKEN = (
    "started_at", "project", "corpus", "surface", "actor_kind", "epoch", "status", "skip_reason", "degraded",
    "degraded_reason", "vector_available", "latency_ms", "candidate_count", "admitted_count", "top_candidate_score",
    "top_admitted_score",
)  # fmt: skip


def logical(searches: Iterable[Row], attempts: Attempts) -> Iterator[tuple[UUID, Row]]:
    """The outermost ones, of a group of attempts the last."""
    for row in searches:
        last = attempts.get(row["attempt_of"] or row["search_id"])
        own = (row["started_at"], row["search_id"])
        if row["depth"] == 0 and (last is None or last <= own):
            yield row["search_id"], row


def hits_of(search: Row, hits: Iterable[Row], deliveries: Iterable[Row], feedback: Iterable[Row]) -> Counted:
    """A search with its hits, its latest delivery and what was said of it."""
    found = Counted(has_session=search["session_id"] is not None, **{name: search[name] for name in _TAKEN})
    by_rank = {row["rank"]: _hit(row) for row in hits}
    found.hits = list(by_rank.values())
    latest = max(deliveries, key=lambda row: (row["delivered_at"], row["delivery_id"]), default=None)
    found.order = latest["hit_ranks"] if latest else None
    said: dict[tuple[Any, ...], bool] = {}
    for row in sorted(feedback, key=lambda row: (row["given_at"], row["feedback_id"])):
        if row["stage"] == "accessed":
            by_rank[row["rank"]].opened_by.add(row["actor_kind"])
        else:
            said[row["rank"], row["actor_kind"], row["actor_id"]] = row["outcome"] in _USEFUL
    for (rank, voter, _), useful in said.items():
        by_rank[rank].verdicts.setdefault(voter, []).append(useful)
    return found


def _hit(row: Row) -> CountedHit:
    padding = (
        row["lexical_score"] == 0
        and row["vector_score"] is None
        and row["score"] in {0, None}
        and not _holds_number(row["signals"])
    )
    return CountedHit(
        rank=row["rank"],
        document_id=row["document_id"],
        source_kind=row["source_kind"],
        admitted=row["admitted"],
        padding=padding,
    )


def _holds_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_number, value.values()))
    if isinstance(value, list):
        return any(map(_holds_number, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)
