"""On any table that the schema admits, `ragledger measure` says what slow Python says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest
from fix_pg import Database
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measures.table_rows import START, TableRows, hit
from oracles import OUTCOMES, dump, measurement
from same import differences

from ragledger.errors import NothingToMeasure
from ragledger.measurement import Window, measure
from ragledger.measures.percentile import nearest_rank

pytestmark = pytest.mark.pg

on_one_database = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

scores = st.sampled_from([None, 0.0, 0.5])
moments = st.integers(0, 40).map(lambda count: START + timedelta(seconds=count))
actors = st.sampled_from(["human:ana", "human:ben", "human", "agent:7", "judge:qrels", "system"])


@st.composite
def tables(draw: st.DrawFn) -> TableRows:
    rows = TableRows()
    for _ in range(draw(st.integers(0, 6))):
        ranks = sorted(draw(st.sets(st.integers(1, 24), max_size=5)))
        search_id = rows.search(*(draw(hits(rank)) for rank in ranks), **draw(searches(rows)))
        if ranks:
            for _ in range(draw(st.integers(0, 5))):
                _say_something(draw, rows, search_id, draw(st.sampled_from(ranks)))
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            order = draw(st.lists(st.sampled_from([*ranks, 25]), max_size=5))
            rows.deliver(search_id, order, at=draw(moments))
        for _ in range(draw(st.sampled_from([0, 1, 2]))):
            value = draw(st.sampled_from([None, 0.0, 0.5, 0.75, 2.0]))
            rows.assess(search_id, draw(st.sampled_from(["coverage", "trust"])), value, at=draw(moments))
    return rows


@st.composite
def searches(draw: st.DrawFn, rows: TableRows) -> dict[str, Any]:
    status = draw(st.sampled_from(["ok", "ok", "ok", "error", "cancelled", "skipped"]))
    first_tries = [row for row in rows.rows["searches"] if row["attempt_of"] is None]
    retried = draw(st.sampled_from([None, None, *first_tries]))
    earliest = max((row["started_at"] for row in first_tries), default=START)
    return {
        "status": status,
        "skip_reason": draw(st.sampled_from(["no_goal", "disabled"])) if status == "skipped" else None,
        "started_at": earliest
        + timedelta(seconds=draw(st.integers(0, 3)), microseconds=draw(st.integers(0, 1))),
        "attempt_of": retried and retried["search_id"],
        "depth": draw(st.sampled_from([0, 0, 0, 1])),
        "project": draw(st.sampled_from(["default", "shop"])),
        "corpus": draw(st.sampled_from([None, "handbook"])),
        "surface": draw(st.sampled_from([None, "study", "agent"])),
        "session_id": draw(st.sampled_from([None, "s1"])),
        "actor_kind": draw(st.sampled_from(["human", "agent"])),
        "epoch": draw(st.sampled_from(["e1", "e2"])),
        "degraded": draw(st.booleans()),
        "degraded_reason": draw(st.sampled_from([None, "fallback", "retry"])),
        "vector_available": draw(st.sampled_from([None, True, False])),
        "latency_ms": draw(st.none() | st.floats(0, 1000)),
        "weights": {"effective": {"vector": draw(st.sampled_from([0.1, 0.2]))}},
    }


def hits(rank: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        hit,
        rank=st.just(rank),
        score=scores,
        vector_score=scores,
        lexical_score=scores,
        signals=st.sampled_from([None, {}, {"splade": None}, {"splade": 0.0}, {"splade": {"rank": 1}}]),
        admitted=st.sampled_from([True, True, False]),
    )


def _say_something(draw: st.DrawFn, rows: TableRows, search_id: UUID, rank: int) -> None:
    if draw(st.booleans()):
        rows.vote(search_id, rank, draw(st.sampled_from(OUTCOMES)), by=draw(actors), at=draw(moments))
    else:
        rows.opened(search_id, rank, by=draw(actors), at=draw(moments))


windows = st.fixed_dictionaries(
    {},
    optional={
        "project": st.just("shop"),
        "corpus": st.just("handbook"),
        "surface": st.just("study"),
        "since": st.just(START + timedelta(seconds=2)),
        "until": st.just(START + timedelta(seconds=5)),
    },
)


@on_one_database
@given(rows=tables(), window=windows, useful_from=st.sampled_from(OUTCOMES[1:]))
def test_measure_equals_the_oracle_on_any_table(
    database: Database, rows: TableRows, window: dict[str, Any], useful_from: Any
) -> None:
    with database.connect() as connection:
        refill(connection, rows)
        expected = measurement(dump(connection), useful_from=useful_from, **window)
        if expected is None:
            with pytest.raises(NothingToMeasure):
                measure(connection, Window(**window), useful_from=useful_from)
        else:
            assert not differences(as_json(connection, Window(**window), useful_from), expected)


@on_one_database
@given(rows=tables())
def test_one_more_hit_without_a_vote_changes_no_precision(database: Database, rows: TableRows) -> None:
    rows.search(hit("a"))
    with database.connect() as connection:
        refill(connection, rows)
        before = precisions(as_json(connection, Window()))
        connection.execute(
            "INSERT INTO hits (search_id, rank, score_kind, admitted) SELECT search_id, r, 'none', true"
            " FROM searches CROSS JOIN generate_series(1, 12) r ON CONFLICT DO NOTHING"
        )
        assert precisions(as_json(connection, Window())) == before


@on_one_database
@given(latencies=st.lists(st.floats(0, 1e6), min_size=1, max_size=130))
def test_sql_and_python_mean_the_same_percentile(database: Database, latencies: list[float]) -> None:
    with database.connect() as connection:
        row = connection.execute(
            "SELECT percentile_disc(0.50) WITHIN GROUP (ORDER BY v), percentile_disc(0.95) WITHIN GROUP (ORDER BY v)"
            " FROM unnest(%s::float8[]) v",
            [latencies],
        ).fetchone()
    assert row is not None
    assert row[0] == nearest_rank(latencies, 50)
    assert len(latencies) < 20 or row[1] == nearest_rank(latencies, 95)


def precisions(found: dict[str, Any]) -> dict[tuple[str, str], float | None]:
    return {
        (kind, k): at["precision"]
        for kind, voter in found["precision"]["overall"].items()
        for k, at in voter["at"].items()
    }


def as_json(
    connection: psycopg.Connection[Any], window: Window, useful_from: Any = "relevant"
) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(measure(connection, window, useful_from=useful_from))
    )
    return found


def refill(connection: psycopg.Connection[Any], rows: TableRows) -> None:
    with connection.transaction():
        for table in ("feedback", "deliveries", "assessments", "hits", "searches"):
            connection.execute(f"DELETE FROM {table}")
    rows.insert(connection)
