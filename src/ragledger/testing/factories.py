"""Records as the recorder would have made them, for what a test needs to have happened elsewhere."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ragledger.ids import new_id
from ragledger.model import FeedbackRecord, HitRecord, SearchRecord
from ragledger.weights import UNKNOWN, freeze

__all__ = ["make_hit", "make_search", "make_vote"]

_SOME_TIME_US = 1_700_000_000_000_000


def make_search(*chunks: str, **changes: Any) -> SearchRecord:
    """A search that returned these chunks, in this order; `changes` are columns, also as no recorder would fill them."""
    search_id = new_id()
    values: dict[str, Any] = dict.fromkeys(SearchRecord.__struct_fields__)
    values |= {
        "search_id": search_id,
        "started_at": _SOME_TIME_US,
        "project": "test",
        "actor_kind": "system",
        "framework": "application",
        "root_id": search_id,
        "depth": 0,
        "status": "ok",
        "degraded": False,
        "latency_ms": 1.5,
        "weights": freeze(UNKNOWN).json,
        "epoch": "e",
        "flags": (),
        "hits": tuple(make_hit(rank, chunk) for rank, chunk in enumerate(chunks, 1)),
    }
    return SearchRecord(**(values | changes))


def make_hit(rank: int, chunk: str, **changes: Any) -> HitRecord:
    """An admitted hit without a score."""
    values: dict[str, Any] = dict.fromkeys(HitRecord.__struct_fields__)
    values |= {"rank": rank, "chunk_id": chunk, "chunk_id_source": "framework", "score_kind": "none"}
    return HitRecord(**(values | {"admitted": True} | changes))


def make_vote(
    search_id: UUID, rank: int | None = 1, chunk: str | None = None, **changes: Any
) -> FeedbackRecord:
    """A checked vote of `human:ana`: the hit at that rank is relevant."""
    values: dict[str, Any] = {
        "search_id": search_id,
        "feedback_id": new_id(),
        "rank": rank,
        "chunk_id": chunk,
        "stage": "judged",
        "outcome": "relevant",
        "actor_kind": "human",
        "actor_id": "ana",
        "given_at": _SOME_TIME_US,
        "checked": True,
    }
    return FeedbackRecord(**(values | changes))
