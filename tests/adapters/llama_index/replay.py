"""The fused order again, from nothing but a row: its effective weights, its hits' signals, its signals column."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ragledger.model import SearchRecord


class _Item(NamedTuple):
    chunk_id: str
    score: float | None
    rank: int


def replay(row: SearchRecord) -> list[tuple[str, float | None]]:
    """Ids and scores of QueryFusionRetriever, best first, for all candidates of the row."""
    effective = json.loads(row.weights)["effective"]
    fused = _FUSED[effective["mode"]](row, effective)
    return sorted(fused.items(), key=lambda pair: pair[1] or 0.0, reverse=True)


def _lists(row: SearchRecord, members: list[str]) -> list[tuple[str, list[_Item]]]:
    found: dict[str, list[_Item]] = {}
    for hit in row.hit_rows:
        for name, signal in (hit.signals or {}).items():
            assert hit.chunk_id is not None
            assert signal.rank is not None
            found.setdefault(name, []).append(_Item(hit.chunk_id, signal.score, signal.rank))

    def place(name: str) -> tuple[int, int]:
        member, _, query = name.partition("@")
        return int(query or 1), members.index(member)

    return [(name, sorted(found[name], key=lambda item: item.rank)) for name in sorted(found, key=place)]


def _reciprocal(row: SearchRecord, effective: dict[str, Any]) -> dict[str, float | None]:
    fused: dict[str, float | None] = {}
    for _, items in _lists(row, effective["members"]):
        for place, item in enumerate(sorted(items, key=lambda item: item.score or 0.0, reverse=True)):
            fused[item.chunk_id] = (fused.get(item.chunk_id) or 0.0) + 1 / (place + effective["rrf_k"])
    return fused


def _relative(row: SearchRecord, effective: dict[str, Any]) -> dict[str, float | None]:
    fused: dict[str, float | None] = {}
    for name, items in _lists(row, effective["members"]):
        low, high = _range(row, name, effective["mode"])
        weight = effective["retriever_weights"][effective["members"].index(name.partition("@")[0])]
        for item in items:
            assert item.score is not None
            scaled = (item.score - low) / (high - low) if high != low else float(high > 0)
            share = scaled * weight / effective["num_queries"]
            fused[item.chunk_id] = (fused.get(item.chunk_id) or 0.0) + share
    return fused


def _range(row: SearchRecord, name: str, mode: str) -> tuple[float, float]:
    assert row.signals is not None
    known = row.signals[name]
    if mode == "relative_score":
        assert known.min is not None
        assert known.max is not None
        return known.min, known.max
    assert known.mean is not None
    assert known.deviation is not None
    return known.mean - 3 * known.deviation, known.mean + 3 * known.deviation


def _simple(row: SearchRecord, effective: dict[str, Any]) -> dict[str, float | None]:
    fused: dict[str, float | None] = {}
    for _, items in _lists(row, effective["members"]):
        for item in items:
            if item.chunk_id in fused:
                fused[item.chunk_id] = max(item.score or 0.0, fused[item.chunk_id] or 0.0)
            else:
                fused[item.chunk_id] = item.score
    return fused


_FUSED = {
    "reciprocal_rerank": _reciprocal,
    "relative_score": _relative,
    "dist_based_score": _relative,
    "simple": _simple,
}
