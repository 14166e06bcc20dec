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
    everything = facts.GroupFact("all", None, None, None, 30, 4, 1, 5, 30, 12.5, 80.25)
    study = structs.replace(everything, grouped_by="surface", surface="study")
    alone = structs.replace(everything, grouped_by="session", in_session=False)
    human = structs.replace(everything, grouped_by="actor_kind", actor_kind="human")
    found = facts.Facts(
        extent=facts.ExtentFact(40, FIRST, LAST, ("shop",), ("handbook", None)),
        groups=[everything, study, alone, human],
        answers=[facts.AnswersFact("study", False, "human", 0, 2, 1)],
        conditions=facts.ConditionsFact(3, 30, 2, 8, 6),
        reasons=[
            facts.ReasonFact("skipped", "no_goal", 5),
            facts.ReasonFact("degraded", "embedding_unavailable", 2),
            facts.ReasonFact("degraded", None, 1),
        ],
        epochs=[epoch("1111222233334444")],
        shown=[shown("1111222233334444", 1, 28), shown("1111222233334444", 4, 11)],
        opened=[],
        votes=[],
        stored=[],
        assessed=[],
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


def shown(epoch_name: str, position: int | None, hits: int) -> facts.ShownFact:
    return facts.ShownFact(epoch_name, "human", "study", position, hits)


def vote(
    position: int | None, useful: int = 1, actors: int = 1, voter: int = 1, rank: int | None = None
) -> facts.VoteFact:
    """A hit that `useful` of `actors` found relevant, the others not at all."""
    return facts.VoteFact(
        position or 99 if rank is None else rank, position, voter, actors, useful, 3 * useful
    )


def ballot(epoch_name: str, *votes: facts.VoteFact, searches: int = 1) -> facts.VotesFact:
    """So many searches that were judged like this."""
    return facts.VotesFact(
        "ballot", epoch_name, "human", "study", votes, searches, None, None, None, None, None, None, None
    )


def judged(epoch_name: str, position: int | None, useful: int, hits: int) -> list[facts.VotesFact]:
    """So many searches with one vote each, at one position."""
    return [
        ballot(epoch_name, vote(position, said), searches=n)
        for said, n in ((1, useful), (0, hits - useful))
        if n
    ]


def by_actors(n: int, useful: float, judged: float, k: int | None, **given: Any) -> facts.VotesFact:
    """The sums over so many people, each with the same share of it."""
    u, j = useful / n, judged / n
    fact = facts.VotesFact(
        "all", None, None, None, None, n, "human", k, useful, judged, n * u * u, n * j * j, n * u * j
    )
    return structs.replace(fact, **given)


def some_measurement(window: Window | None = None, **given: Any) -> Measurement:
    return summarise(some_facts(**given), window or Window(), "relevant")


def voted(**given: Any) -> Measurement:
    """Two epochs and some votes by people."""
    a, b = "1111222233334444", "5555666677778888"
    return some_measurement(
        epochs=[epoch(a, ok=20), epoch(b, ok=10)],
        shown=[shown(a, 1, 1820), shown(b, 1, 1010), shown(a, 7, 1605)],
        opened=[facts.OpenedFact(None, 1, 4), facts.OpenedFact("human", 1, 4)],
        votes=[
            *judged(a, 1, 2, 3),
            *judged(b, 1, 0, 1),
            *judged(a, None, 1, 1),
            by_actors(2, 3, 5, None),
            by_actors(2, 2, 4, 1),
        ],
        **given,
    )
