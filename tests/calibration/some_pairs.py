"""Voted searches as facts, without a database: two signals, and usefulness that hangs on both of them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import numpy as np

from ragledger.measures.evidence import HitFact, SearchFact
from ragledger.measures.facts import EpochFact
from ragledger.measures.pairs import Pairs, ordered, pairs_of
from ragledger.measures.refusion import Fusion, Unreadable

WHEN = datetime(2026, 3, 1, tzinfo=timezone.utc)
SIGNALS: dict[str, dict[str, Any]] = {
    "vector": {"min": 0.0, "max": 1.0, "count": 4, "complete": True},
    "lexical": {"min": 0.0, "max": 2.0, "count": 4, "complete": True},
}


def fusion(*weights: float, **given: Any) -> Fusion:
    names = ("vector", "lexical", "rerank")[: len(weights)]
    return Fusion(**{"kind": "linear", "names": names, "weights": weights, "keys": names, **given})


def epoch(name: str = "e1", *weights: float, **given: Any) -> EpochFact:
    effective = dict(zip(("vector", "lexical"), weights or (0.9, 0.1), strict=True)) | given
    return EpochFact(name, 9, 9, WHEN, WHEN, {"effective": effective, "source": "declared"}, "v1", "m1")


def search(number: int, **given: Any) -> SearchFact:
    said = {
        "search_id": UUID(int=number),
        "epoch": "e1",
        "index_version": "v1",
        "embedding_model": "m1",
        "degraded": False,
        "capped": False,
        "query_key": number.to_bytes(2, "big"),
        "candidates": f"found {number}",
        "signals": SIGNALS,
        **given,
    }
    return SearchFact(**said)


def hit(
    number: int, rank: int, *said: float | None, useful: int = 1, votes: int = 1, by: str = "ana"
) -> HitFact:
    return HitFact(UUID(int=number), rank, votes, useful, [by] * votes, list(said))


FUSIONS: dict[str, Fusion | Unreadable] = {
    "e1": fusion(0.9, 0.1),
    "e0": fusion(0.5, 0.5),
    "scaled": fusion(0.9, 0.1, scale="min_max"),
    "unread": Unreadable("no weight of a logged signal is effective"),
}


def random_pairs(
    seed: int, *best: float, running: tuple[float, ...] = (0.9, 0.1), questions: int = 150, each: int = 3
) -> Pairs:
    """Gaps that a voter with these weights would leave behind, with noise: usefulness is a noisy weighted sum."""
    chance = np.random.default_rng(seed)
    gaps = chance.normal(0, 1, (questions * each, len(best)))
    liked = gaps @ np.array(best) + chance.normal(0, 0.15, len(gaps)) > 0
    gaps = np.where(liked[:, None], gaps, -gaps)
    return pairs_of(gaps, np.repeat(np.arange(questions), each), ordered(gaps, np.array(running)))
