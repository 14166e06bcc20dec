"""Every statement runs as the reader, on data and on none, and its columns are what the panel takes them for."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest
from dashboards.world import RANGES, every_panel, run

from ragledger.panels import dashboards
from ragledger.panels.macros import TimeRange
from ragledger.panels.panel import Column, Dashboard, Panel
from ragledger.panels.queries import annotation_query, panel_query, variable_query

pytestmark = pytest.mark.pg

PANELS = [pytest.param(*one, id=f"{one[0].name}-{one[1].query}") for one in every_panel()]
VARIABLES = {one.name: one for board in dashboards() for one in board.variables if one.query}
ANNOTATIONS = {one.name: one for board in dashboards() for one in board.annotations}
NUMBER, WORD, MOMENT = {"int4", "int8", "float8"}, {"text"}, {"timestamptz"}


def kinds(connection: psycopg.Connection[Any], types: list[int]) -> list[str]:
    known = dict(
        connection.execute("SELECT oid::int8, typname::text FROM pg_type WHERE oid = ANY (%s)", [types])
    )
    return [known[one] for one in types]


def fits(column: Column, kind: str) -> bool:
    """Numbers as Grafana draws them; `numeric` would do there, and cost a Decimal per cell here."""
    if column.unit == "text":
        return kind in WORD
    return kind in (MOMENT if column.unit == "time" else NUMBER)


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_a_panel_has_the_columns_that_it_names(
    reader: psycopg.Connection[Any], board: Dashboard, panel: Panel
) -> None:
    for when in RANGES.values():
        _fits(reader, board, panel, when)


def _fits(reader: psycopg.Connection[Any], board: Dashboard, panel: Panel, when: TimeRange) -> None:
    names, types, rows = run(reader, panel_query(board, panel), when)
    assert names == [column.name for column in panel.columns]
    found = kinds(reader, types)
    assert [
        (column.name, kind)
        for column, kind in zip(panel.columns, found, strict=True)
        if not fits(column, kind)
    ] == []
    assert rows, "the world has something in every panel"
    if panel.kind == "stat":
        assert len(rows) == 1
    if panel.kind in {"timeseries", "bars"}:
        firsts = [row[0] for row in rows]
        assert None not in firsts
        assert len(set(firsts)) == len(firsts)
        if panel.kind == "timeseries":
            assert names[0] == "time"
            assert firsts == sorted(firsts)
            if panel.query != "rejected_over_time":  # where none is none
                steps = {later - earlier for earlier, later in itertools.pairwise(firsts)}
                assert len(steps) <= 1, "a bucket without a row is a gap in the line"


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_p8_without_data_no_panel_says_zero(
    empty_reader: psycopg.Connection[Any], board: Dashboard, panel: Panel
) -> None:
    _, _, rows = run(empty_reader, panel_query(board, panel), projects=[])
    numbers = [
        value
        for row in rows
        for column, value in zip(panel.columns, row, strict=True)
        if column.unit not in {"text", "time"}
    ]
    assert [value for value in numbers if value is not None] == []


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_offers_what_there_is(
    reader: psycopg.Connection[Any], empty_reader: psycopg.Connection[Any], name: str
) -> None:
    names, types, rows = run(reader, variable_query(VARIABLES[name]))
    assert len(names) == 1
    assert kinds(reader, types) == ["text"]
    assert {len(rows)} <= {2, 3}
    assert (None,) not in rows
    assert run(empty_reader, variable_query(VARIABLES[name]), projects=[])[2] == []


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_an_annotation_marks_where_the_weights_changed(reader: psycopg.Connection[Any], name: str) -> None:
    names, _, rows = run(reader, annotation_query(ANNOTATIONS[name]))
    assert names == ["time", "title", "text", "tags"]
    assert {row[1] for row in rows} == {"default: weights changed", "shop: weights changed"}
    assert len({(row[3], row[0].date()) for row in rows}) == len(rows), "once a day, not per surface"
    assert {row[2] for row in rows} == {'epoch e2 {"vector": 0.8}'}
