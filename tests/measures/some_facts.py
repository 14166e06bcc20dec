"""Counted facts without a database: two surfaces, and whatever else a test names."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from msgspec import structs

from ragledger.measures import facts
from ragledger.measures.report import Measurement, Window
from ragledger.measures.summary import summarise

FIRST = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)
LAST = datetime(2026, 3, 2, 17, 30, tzinfo=timezone.utc)


def some_facts(**given: Any) -> facts.Facts:
    """Forty searches, thirty of them ok, nobody voted."""
    everything = facts.GroupFact("all", None, None, None, 30, 4, 1, 5, 0, 2, 27, 30, 12.5, 80.25)
    study = structs.replace(everything, grouped_by="surface", surface="study")
    alone = structs.replace(everything, grouped_by="session", in_session=False)
    human = structs.replace(everything, grouped_by="actor_kind", actor_kind="human")
    found = facts.Facts(
        extent=facts.ExtentFact(40, FIRST, LAST, ("shop",), ("handbook", None)),
        groups=[everything, study, alone, human],
        conditions=facts.ConditionsFact(3, 30, 2, 8, 6),
        reasons=[
            facts.ReasonFact("skipped", "no_goal", 5),
            facts.ReasonFact("degraded", "embedding_unavailable", 2),
            facts.ReasonFact("degraded", None, 1),
        ],
        epochs=[epoch("1111222233334444")],
        shown=[shown("1111222233334444", 1, 28), shown("1111222233334444", 4, 11)],
        accessed=[],
        judged=[],
        voters=[],
    )
    return structs.replace(found, **given)


def epoch(name: str, **given: Any) -> facts.EpochFact:
    weights = {
        "configured": {},
        "effective": {"vector": 0.6, "mode": "rrf"},
        "source": "declared",
        "unknown": [],
    }
    return structs.replace(facts.EpochFact(name, 35, 30, FIRST, LAST, weights, "v3", None), **given)


def shown(epoch_name: str, position: int | None, hits: int, accessed: int = 0) -> facts.ShownFact:
    return facts.ShownFact(epoch_name, "human", position, hits, accessed)


def judged(epoch_name: str, position: int | None, useful_votes: int, hits: int) -> facts.JudgedFact:
    return facts.JudgedFact(epoch_name, "human", "human", position, 1, useful_votes, hits)


def some_measurement(window: Window | None = None, **given: Any) -> Measurement:
    return summarise(some_facts(**given), window or Window(), "relevant")


def voted(**given: Any) -> Measurement:
    """Two epochs and some votes by people."""
    a, b = "1111222233334444", "5555666677778888"
    return some_measurement(
        epochs=[epoch(a, ok=20), epoch(b, ok=10)],
        shown=[shown(a, 1, 1820, 3), shown(b, 1, 1010, 1), shown(a, 7, 1605)],
        accessed=[facts.AccessedFact("human", 1, 4)],
        judged=[judged(a, 1, 2, 3), judged(b, 1, 0, 1), judged(a, None, 1, 1)],
        voters=[facts.VoterFact("human", 5, 2, 4)],
        **given,
    )
