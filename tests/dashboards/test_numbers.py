"""What a panel says is what `ragledger measure` says of the same searches; and what the pipeline says is so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from dashboards.world import EVERYTHING, named, run
from fix_pg import Database
from measures.table_rows import START

from ragledger.measurement import Measurement, Window, measure
from ragledger.panels.queries import panel_query

pytestmark = pytest.mark.pg

ONE_PROJECT = {"projects": ["shop"]}


@pytest.fixture(scope="module")
def measured(filled: Database) -> Measurement:
    with filled.connect() as connection:
        return measure(connection, Window(project="shop", until=EVERYTHING.end))


def asked(reader: psycopg.Connection[Any], board: str, query: str, **given: Any) -> list[dict[str, Any]]:
    dashboard = named(f"ragledger-{board}")
    panel = next(one for one in dashboard.panels() if one.query == query)
    names, _, rows = run(reader, panel_query(dashboard, panel), **given)
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_shares_are_those_of_measure(reader: psycopg.Connection[Any], measured: Measurement) -> None:
    hit, error, degraded, skipped, unavailable = asked(reader, "overview", "shares", **ONE_PROJECT)
    rate = measured.searches.hit_rate
    assert (hit["share"], hit["n"]) == (pytest.approx(rate.rate), rate.of)
    assert hit["low"] < hit["share"] < hit["high"]
    statuses = measured.searches.by_status
    assert error["share"] * error["n"] == pytest.approx(statuses.error)
    assert (degraded["share"], degraded["n"]) == (pytest.approx(measured.degraded.rate), measured.degraded.of)
    assert (skipped["share"], skipped["n"]) == (pytest.approx(measured.skipped.rate), measured.skipped.of)
    known = measured.vector.available + measured.vector.unavailable
    assert (unavailable["share"] * known, unavailable["n"]) == (
        pytest.approx(measured.vector.unavailable),
        known,
    )


def test_statuses_over_time_add_up(reader: psycopg.Connection[Any], measured: Measurement) -> None:
    rows = asked(reader, "overview", "searches", **ONE_PROJECT)
    found = {name: sum(row[name] or 0 for row in rows) for name in rows[0] if name != "time"}
    group = measured.searches
    assert found == {
        "with a hit": group.hit_rate.n,
        "without a hit": group.empty + group.padded_only,
        "hits not told": group.untold,
        "error": group.by_status.error,
        "cancelled": group.by_status.cancelled,
        "skipped": group.by_status.skipped,
    }


def test_latency_is_that_of_measure(reader: psycopg.Connection[Any], measured: Measurement) -> None:
    [found] = asked(reader, "overview", "latency_now", **ONE_PROJECT)
    latency = measured.searches.latency
    assert (found["p50"], found["p95"]) == pytest.approx((latency.p50_ms, latency.p95_ms), rel=0.01)
    assert (found["n"], found["p99"]) == (latency.n, None), "P8: p99 needs a hundred"


def test_surfaces_are_those_of_measure(reader: psycopg.Connection[Any], measured: Measurement) -> None:
    found = {row["surface"]: row for row in asked(reader, "overview", "surfaces", **ONE_PROJECT)}
    assert {name: (row["searches"], row["n"]) for name, row in found.items()} == {
        group.surface or "(none)": (group.searches, group.hit_rate.of) for group in measured.by_surface
    }


@pytest.mark.parametrize("surface", ["study", "agent", "(none)"])
def test_a_choice_counts_that_alone(
    reader: psycopg.Connection[Any], measured: Measurement, surface: str
) -> None:
    [found] = asked(reader, "overview", "totals", surface=surface, **ONE_PROJECT)
    [group] = [one for one in measured.by_surface if (one.surface or "(none)") == surface]
    assert found["searches"] == group.searches


def test_an_epoch_and_a_kind_of_actor_can_be_chosen(
    reader: psycopg.Connection[Any], measured: Measurement
) -> None:
    [every] = asked(reader, "overview", "totals", **ONE_PROJECT)
    parts = [
        asked(reader, "overview", "totals", epoch=one, **ONE_PROJECT)[0]["searches"] for one in ("e1", "e2")
    ]
    assert sum(parts) == every["searches"] == measured.searches.searches
    assert every["epochs"] == 2
    for group in measured.by_actor_kind:
        [found] = asked(reader, "overview", "totals", actor_kind=[group.actor_kind], **ONE_PROJECT)
        assert found["searches"] == group.searches


@pytest.mark.parametrize("voter", ["human", "agent"])
def test_p12_precision_is_that_of_measure_with_what_it_rests_on(
    reader: psycopg.Connection[Any], measured: Measurement, voter: Any
) -> None:
    found = {int(row["k"]): row for row in asked(reader, "relevance", "by_k", voter=voter, **ONE_PROJECT)}
    at = measured.precision.overall[voter].at
    for k, row in found.items():
        expected = at[k]
        assert row["precision"] == pytest.approx(expected.precision)
        assert (row["judged hits"], row["judged share"]) == (
            expected.judged,
            pytest.approx(expected.judged_share),
        )
        if row["searches"] > 1:
            assert row["low"] <= row["precision"] <= row["high"]
    assert len(found) == sum(1 for one in at.values() if one.judged)
    [voters] = [
        row for row in asked(reader, "relevance", "voters", k="3", **ONE_PROJECT) if row["voter"] == voter
    ]
    assert voters["precision"] == pytest.approx(at[3].precision)


def test_epochs_are_not_pooled(reader: psycopg.Connection[Any], measured: Measurement) -> None:
    rows = {row["epoch"]: row for row in asked(reader, "relevance", "epochs", k="5", **ONE_PROJECT)}
    assert set(rows) == {"e1", "e2"}
    for epoch, part in measured.precision.by_epoch.items():
        assert rows[epoch]["precision"] == pytest.approx(part.voters["human"].at[5].precision)
    assert rows["e2"]["effective weights"] == '{"vector": 0.8}'


def test_the_funnel_is_that_of_measure(reader: psycopg.Connection[Any], measured: Measurement) -> None:
    found = {row["stage"]: row["hits"] for row in asked(reader, "relevance", "funnel", **ONE_PROJECT)}
    human = measured.funnel.voters["human"]
    assert (found["admitted"], found["accessed"]) == (measured.funnel.retrieved, measured.funnel.accessed)
    assert (found["judged"], found["useful"]) == (human.judged, pytest.approx(human.useful))


def test_what_was_considered_is_counted_where_every_search_tells(
    filled: Database, reader: psycopg.Connection[Any]
) -> None:
    considered = asked(reader, "relevance", "funnel", **ONE_PROJECT)[0]
    told = "SELECT sum(candidate_count), sum(admitted_count) FROM searches WHERE project = 'shop'"
    [(candidates, admitted)] = filled.rows(told)
    assert (considered["hits"], considered["of the admitted"]) == (
        candidates,
        pytest.approx(candidates / admitted),
    )


def test_p8_votes_that_nobody_gave_are_not_none(reader: psycopg.Connection[Any]) -> None:
    found = {
        row["stage"]: row["hits"]
        for row in asked(reader, "relevance", "funnel", voter="judge", **ONE_PROJECT)
    }
    assert (found["judged"], found["useful"]) == (None, None)
    assert asked(reader, "relevance", "by_k", voter="judge", **ONE_PROJECT) == []


def test_documents_are_held_against_the_inventory(reader: psycopg.Connection[Any]) -> None:
    rows = {(row["project"], row["corpus"]): row for row in asked(reader, "corpus", "corpora")}
    assert set(rows) == {(p, c) for p in ("default", "shop") for c in ("handbook", "(none)")}
    listed = rows["shop", "handbook"]
    assert listed["listed"] == 20
    assert 8 <= listed["never retrieved"] < 20
    assert listed["coverage"] == pytest.approx(1 - listed["never retrieved"] / 20)
    assert rows["shop", "(none)"]["listed"] is None, "P8: nobody listed them"
    never = {row["document"] for row in asked(reader, "corpus", "never")}
    assert {f"d{number}" for number in range(12, 20)} <= never
    unused = asked(reader, "corpus", "unused")
    assert unused[0]["document"] == "nobody-opens-this", "the most admitted of those that nobody used"


def test_the_pipeline_says_what_waits_and_what_is_lost(reader: psycopg.Connection[Any]) -> None:
    rows = {row["pid"]: row for row in asked(reader, "pipeline", "writers")}
    assert (rows["2"]["backlog"], rows["2"]["refused"], rows["2"]["gaps"]) == (4, 2, 0)
    assert (rows["3"]["pending"], rows["3"]["rejected"], rows["3"]["gaps"]) == (1, 1, 1)
    assert rows["4"]["finished"] is not None
    [now] = asked(reader, "pipeline", "writers_now")
    assert (now["backlog"], now["pending votes"], now["at work"]) == (4, 1, 2)
    assert asked(reader, "pipeline", "lost") == [{"rejected": 1, "refused": 2, "gaps": 1}]
    assert now["quiet"] == 2
    assert now["slowest shipment"] is None, "P8: no writer at work of these projects has a search"
    [refused] = asked(reader, "pipeline", "refused")
    assert (refused["reason"], refused["refused"]) == ("cap", 2)
    [rejected] = asked(reader, "pipeline", "rejected")
    assert (rejected["project"], rejected["kind"], rejected["reason"]) == ("shop", "vote", "unknown_search")


def test_what_the_collector_has_not_seen_is_its_lag(
    filled: Database, reader: psycopg.Connection[Any]
) -> None:
    arrears = "SELECT behind, arrived_at FROM collector_arrears WHERE writer_id = %s"
    arrived = "SELECT recorded_at FROM searches WHERE search_id = %s"
    [(behind, arrived_at)] = filled.rows(arrears, UUID(int=0xABC))
    assert (behind, arrived_at) == (1, filled.value(arrived, UUID(int=10**9)))
    delay = "SELECT delay_s = extract(epoch FROM recorded_at - %s)::float8 - 0.0125 FROM shipping_delays WHERE project = 'p'"
    assert filled.value(delay, START + timedelta(days=2)) is True
    [found] = asked(reader, "pipeline", "collector", projects=["p"])
    assert found["records behind"] == 1
    assert found["lag"] > 0
    assert found["minutes waiting"] == 0
