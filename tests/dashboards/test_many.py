"""Panels that read less where there is much say what they would say of all of it."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from collector_world import arrive, collect
from dashboards.test_unknowns import asked, counted
from dashboards.world import RANGES
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

from ragledger.measures.histogram import bin_of, percentile_ms

pytestmark = pytest.mark.pg

KINDS = ("human", "agent")


@pytest.mark.parametrize("seed", range(4))
def test_latency_without_series_is_that_of_all_series(database: Database, seed: int) -> None:
    """Spread over many parts, or all in one; the same percentiles whether the choice is All or every one."""
    draw = random.Random(seed)
    made, taken = TableRows(), dict[int, int]()
    for number in range(230):
        latency = draw.choice([0.0, 0.00009, 7.0, draw.lognormvariate(3, 2), draw.uniform(50, 50.5)])
        made.search(
            started_at=START + timedelta(minutes=7 * number),
            project=draw.choice(["default", "shop"]),
            surface=draw.choice(["study", None]),
            actor_kind=KINDS[number % 2],
            latency_ms=latency,
        )
        taken[bin_of(latency)] = taken.get(bin_of(latency), 0) + 1
    with database.connect() as connection:
        arrive(connection, made)
    collect(database)
    for when in (RANGES["hours"], RANGES["days"]):
        for query in ("latency_now", "latency"):
            pooled, binned = (
                asked(database, "overview", query, when=when, **chosen)
                for chosen in ({}, {"actor_kind": KINDS})
            )
            assert pooled == binned
            assert sum(row["n"] or 0 for row in pooled) == 230
        [now] = asked(database, "overview", "latency_now", when=when)
        assert [now["p50"], now["p95"], now["p99"]] == [percentile_ms(taken, p) for p in (50, 95, 99)]


def test_the_hundred_latest_epochs_have_all_of_their_votes(database: Database) -> None:
    made = TableRows()
    for number in range(103):
        epoch = {"epoch": f"e{number:03}", "started_at": START + timedelta(hours=number)}
        voted = made.search(hit(), hit("b"), **epoch)
        made.vote(voted, 1, "relevant")
        made.vote(voted, 2, "not_relevant" if number % 2 else "relevant")
    made.search(hit(), epoch="e000", started_at=START + timedelta(hours=200))  # the first again
    counted(database, made)
    rows = asked(database, "relevance", "epochs", when=RANGES["days"], k="5")
    assert [row["epoch"] for row in rows] == ["e000", *(f"e{number:03}" for number in range(102, 3, -1))]
    assert [(row["judged hits"], row["precision"]) for row in rows] == [
        (2, 0.5 if int(row["epoch"][1:]) % 2 else 1.0) for row in rows
    ]
    assert [row["judged share"] for row in rows[:2]] == [pytest.approx(2 / 3), 1.0]


def test_never_retrieved_are_the_first_hundred_by_name(database: Database) -> None:
    made = TableRows()
    for corpus, documents in {"a": (0, 1), "b": (0,), "c": (0, 1), "d": (0,)}.items():
        for document in documents:
            made.search(hit(document_id=f"{document:03}"), corpus=corpus)
    made.search(hit(document_id="001"), corpus="b", project="shop")
    listed = {"a": 4, "b": 95, "c": 2, "d": 90}
    counted(database, made, *((corpus, f"{n:03}") for corpus, size in listed.items() for n in range(size)))

    def never(**given: Any) -> list[str]:
        rows = asked(database, "corpus", "never", **given)
        return [row["corpus"] + row["document"] for row in rows]

    of_b = [f"b{n:03}" for n in range(2, 95)]
    assert never() == ["a002", "a003", *of_b, *(f"d{n:03}" for n in range(1, 6))]
    assert never(projects=["default"]) == ["a002", "a003", "b001", *of_b, *(f"d{n:03}" for n in range(1, 5))]
    assert never(corpus="c") == []
    assert len(never(corpus=["c", "d"])) == 89
