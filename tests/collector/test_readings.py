"""Readings for OTLP and Prometheus: what the rollups and the table say, of two windows; unknown is absent (P1, P8, P12)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from collector_world import arrive, collect
from fix_pg import Database
from hypothesis import given
from hypothesis import strategies as st
from measures.table_rows import START, TableRows, hit

from ragledger.measures.interval import Sums, clustered
from ragledger.removal import remove_searches
from ragledger_collector.points import LARGEST, Point, points_of
from ragledger_collector.readings import Readings, Searched, Voted, Written, read

NOW = START + timedelta(minutes=30, seconds=20)


def said(points: Iterable[Point]) -> dict[str, Any]:
    """The numbers by the name of their metric and their other attributes than the project, as one text."""
    found = {}
    for point in points:
        words = [str(value) for name, value in point.attributes.items() if name != "ragledger.project"]
        name = " ".join([point.name.removeprefix("ragledger."), *words])
        assert name not in found
        found[name] = point.value
    return found


def told(database: Database) -> dict[str, Any]:
    """What a collector would tell now."""
    with database.connect(role="ragledger_collector") as connection:
        return said(points_of(read(connection, NOW)))


@pytest.mark.pg
def test_searches_are_of_the_last_hour_and_of_the_last_week(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        for minute in (0, 1):
            rows.search(hit(), started_at=START + timedelta(minutes=minute))
        rows.search(started_at=START, admitted_count=0, vector_available=None, epoch="e2")
        rows.search(
            started_at=START, status="error", degraded=True, degraded_reason="retry", vector_available=False
        )
        rows.search(started_at=NOW - timedelta(minutes=10), status="error", vector_available=False)
        rows.search(started_at=START, status="skipped", skip_reason="no_goal", vector_available=None)
        rows.search(hit(), started_at=START - timedelta(days=7, hours=9))
        rows.search(hit(), started_at=START - timedelta(days=7, hours=9, minutes=1))
        arrive(connection, rows)
    collect(database)
    found = told(database)
    assert {name: value for name, value in found.items() if name.startswith(("searches", "epochs", "degraded"))} == {
        "searches study 1h ok": 3, "searches study 1h error": 2, "searches study 1h cancelled": 0,
        "searches study 1h skipped": 1, "searches.degraded study 1h": 1, "searches.told study 1h": 3,
        "searches.vector study 1h True": 2, "searches.vector study 1h False": 2, "epochs study 1h": 2,
        "degraded_share study 1h": 1 / 5,
        "searches study 7d ok": 4, "searches study 7d error": 2, "searches study 7d cancelled": 0,
        "searches study 7d skipped": 1, "searches.degraded study 7d": 1, "searches.told study 7d": 4,
        "searches.vector study 7d True": 3, "searches.vector study 7d False": 2, "epochs study 7d": 2,
        "degraded_share study 7d": 1 / 6,
        "searches.vector study 10m True": 0, "searches.vector study 10m False": 1,
    }  # fmt: skip
    assert found["hit_rate study 1h"] == 2 / 3
    # Wilson's interval for 2 of 3, by hand.
    assert [round(found[f"hit_rate.{end} study 1h"], 4) for end in ("low", "high")] == [0.2077, 0.9385]
    assert found["hit_rate study 7d"] == 3 / 4


@pytest.mark.pg
def test_p8_p12_precision_stands_with_its_n_and_is_absent_where_nothing_is_judged(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        first = rows.search(hit("a"), hit("b"), hit("c"), started_at=START - timedelta(days=2))
        rows.vote(first, 1, "relevant")
        rows.vote(first, 2, "not_relevant")
        second = rows.search(hit("a"), started_at=START, surface=None)
        rows.vote(second, 1, "highly_relevant", by="agent:7")
        third = rows.search(hit("a"), hit("b"), started_at=START)
        rows.vote(third, 1, "relevant")
        rows.search(hit("a"), started_at=START, surface="tab")
        arrive(connection, rows)
    collect(database)
    found = told(database)
    of_k3 = {name: value for name, value in found.items() if name.endswith(" 7d human 3")}
    interval = clustered(Sums.of([(1, 2), (1, 1)]))
    assert interval is not None
    assert of_k3 == {
        "judged study 7d human 3": 3,
        "judged.searches study 7d human 3": 2,
        "judged_share study 7d human 3": 3 / 5,
        "precision study 7d human 3": 2 / 3,
        "precision.low study 7d human 3": pytest.approx(interval.low),
        "precision.high study 7d human 3": pytest.approx(interval.high),
    }
    # One search cannot say how searches differ: no interval.
    assert {name for name in found if "agent" in name and name.endswith(" 1")} == {
        *(
            "judged 7d agent 1",
            "judged.searches 7d agent 1",
            "judged_share 7d agent 1",
            "precision 7d agent 1",
        )
    }
    assert {name for name in found if name.startswith(("precision", "judged")) and "tab" in name} == set()


@pytest.mark.pg
def test_p8_a_rate_of_nothing_is_absent_and_a_count_of_nothing_is_zero(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        rows.search(started_at=START - timedelta(days=1), status="error", vector_available=None)
        arrive(connection, rows)
    collect(database)
    found = told(database)
    assert found["searches study 1h ok"] == 0
    assert found["searches study 7d error"] == 1
    assert found["degraded_share study 7d"] == 0
    assert {name for name in found if name.startswith(("hit_rate", "precision", "degraded_share"))} == {
        "degraded_share study 7d"
    }


@pytest.mark.pg
def test_erasure_lowers_the_gauges_and_no_counter(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        gone = rows.search(hit(), started_at=START)
        rows.search(hit(), started_at=START)
        arrive(connection, rows)
        collect(database)
        before = told(database)
        list(remove_searches(connection, [gone]))
    assert told(database)["collector.waiting.minutes"] == 1
    collect(database)
    after = told(database)
    assert (before["searches study 1h ok"], after["searches study 1h ok"]) == (2, 1)
    assert before["table.records written"] == after["table.records written"] == 2
    assert (before["collector.waiting.minutes"], after["collector.waiting.minutes"]) == (0, 0)


@pytest.mark.pg
def test_records_by_their_fate_and_what_the_collector_has_not_looked_at(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        for _ in range(3):
            rows.search(hit(), started_at=START)
        arrive(connection, rows)
        connection.execute("""UPDATE writers SET refused = '{"cap": 4, "no_space": 1}'""")
        writer = connection.execute("SELECT writer_id FROM writers").fetchone()
        assert writer is not None
        reasons = ("too_large", "no_search", "no_text_table", "unknown_search", "hit_not_returned")
        for number, reason in enumerate(reasons, 100):
            connection.execute(
                "INSERT INTO rejected VALUES (%s, %s, 'search', %s)", [*writer, number, reason]
            )
    found = told(database)
    assert {name: value for name, value in found.items() if name.startswith(("table", "collector"))} == {
        "table.records written": 3, "table.records refused": 5, "table.records rejected": 1,
        "table.records expired_vote": 2, "table.pending": 0,
        "collector.backlog": 3, "collector.waiting.minutes": 0, "collector.waiting.days": 0,
    }  # fmt: skip
    collect(database)
    assert told(database)["collector.backlog"] == 0


def test_an_empty_table_tells_of_the_collector_alone() -> None:
    assert said(points_of(Readings())) == {
        "collector.backlog": 0, "collector.waiting.minutes": 0, "collector.waiting.days": 0
    }  # fmt: skip


_NUMBER = st.integers(0, 5)


@given(
    st.lists(
        st.builds(
            Searched,
            span=st.sampled_from(["1h", "7d"]),
            project=st.sampled_from("abc"),
            surface=st.sampled_from(["x", "y", None]),
            ok=_NUMBER,
            error=_NUMBER,
            skipped=_NUMBER,
            found=st.just(0),
            told=_NUMBER,
        ),
        unique_by=lambda one: (one.span, one.project, one.surface),
    ),
    st.integers(0, 5),
)
def test_however_few_pairs_have_series_of_their_own_nothing_is_lost(
    searched: list[Searched], largest: int
) -> None:
    points = list(points_of(Readings(searched=searched), largest=largest))
    pairs = {
        (point.attributes.get("ragledger.project"), point.attributes.get("ragledger.surface"))
        for point in points
        if point.name == "ragledger.searches"
    }
    assert len(pairs) <= largest + 1
    for span in ("1h", "7d"):
        ours = sum(
            point.value
            for point in points
            if point.name == "ragledger.searches" and point.attributes["ragledger.window"] == span
        )
        assert ours == sum(one.ok + one.error + one.skipped for one in searched if one.span == span)
    assert len({(point.name, *sorted(point.attributes.items(), key=str)) for point in points}) == len(points)


def test_the_largest_have_series_of_their_own_and_the_others_one_together() -> None:
    readings = Readings(
        searched=[Searched(span="7d", project="p", surface=str(n), ok=n, told=n, found=n) for n in range(1, 5)],
        voted=[
            Voted(
                project="p", surface=str(n), voter="human", k=1, searches=n, useful=1.0, judged=n, useful_sq=1.0,
                judged_sq=n, useful_judged=1.0, shown=2 * n,
            )
            for n in range(1, 5)
        ],
        written=[Written(project=str(n), written=n, rejected=1, expired=n) for n in range(1, 5)],
    )  # fmt: skip
    points = list(points_of(readings, largest=2))
    found = said(point for point in points if not point.name.startswith("ragledger.table."))
    assert {name: value for name, value in found.items() if name.startswith("searches ") and " 7d ok" in name} == {
        "searches 4 7d ok": 4, "searches 3 7d ok": 3, "searches True 7d ok": 3
    }  # fmt: skip
    assert found["judged True 7d human 1"] == 3
    assert found["precision True 7d human 1"] == 2 / 3
    assert found["judged_share True 7d human 1"] == 1 / 2
    assert "epochs True 7d" not in found
    overflow = [point for point in points if point.name == "ragledger.table.records"]
    assert [(point.value, dict(point.attributes)) for point in overflow[-4:]] == [
        (7, {"otel.metric.overflow": True, "ragledger.row.fate": "written"}),
        (0, {"otel.metric.overflow": True, "ragledger.row.fate": "refused"}),
        (2, {"otel.metric.overflow": True, "ragledger.row.fate": "rejected"}),
        (7, {"otel.metric.overflow": True, "ragledger.row.fate": "expired_vote"}),
    ]


def test_the_bound_stays_below_that_of_the_sdk() -> None:
    """An instrument of the SDK keeps 2,000 series at most; past that its own overflow would hide which they are."""
    voters, cuts, statuses, windows = 4, 4, 4, 3
    assert (LARGEST + 1) * max(voters * cuts, statuses * windows) < 2000
