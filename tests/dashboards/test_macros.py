"""Macros and variables become what Grafana would have sent, and nothing else passes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragledger.panels.macros import MacroError, TimeRange, expand, variables_in

WHEN = TimeRange(
    start=datetime(2026, 3, 1, 9, tzinfo=timezone.utc),
    end=datetime(2026, 3, 1, 15, tzinfo=timezone(timedelta(hours=2))),
)
FROM, TO = "2026-03-01T09:00:00.000Z", "2026-03-01T13:00:00.000Z"


@pytest.mark.parametrize(
    ("query", "expanded"),
    [
        ("$__timeFilter(t)", f"t BETWEEN '{FROM}' AND '{TO}'"),
        ("$__timeFrom() < $__timeTo()", f"'{FROM}' < '{TO}'"),
        ("$__unixEpochTo() - $__unixEpochFrom()", "1772370000 - 1772355600"),
        ("$__timeGroup(t,'5m')", "floor(extract(epoch from t)/300)*300"),
        ("$__timeGroupAlias(t, '1h')", 'floor(extract(epoch from t)/3600)*3600 AS "time"'),
        ("x IN (${one:sqlstring})", "x IN ('it''s')"),
        ("ARRAY[${many:sqlstring}]", "ARRAY['a','b']"),
        ("ARRAY[${none:sqlstring}]", "ARRAY[]"),
    ],
)
def test_it_is_what_grafana_sends(query: str, expanded: str) -> None:
    values = {"one": "it's", "many": ["a", "b"], "none": []}
    assert expand(query, WHEN, values) == expanded  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    [
        "${other:sqlstring}",
        "${one}",
        "$one",
        "${one:csv}",
        "$__timeFiler(t)",
        "$__interval",
        "$__timeGroup(t,'5y')",
    ],
)
def test_anything_else_is_refused(query: str) -> None:
    with pytest.raises(MacroError):
        expand(query, WHEN, {"one": "x"})  # type: ignore[arg-type]


def test_a_time_range_has_a_zone_and_a_direction() -> None:
    with pytest.raises(MacroError):
        TimeRange(start=WHEN.end, end=WHEN.start)
    with pytest.raises(MacroError):
        TimeRange(start=datetime(2026, 1, 1), end=WHEN.end)  # noqa: DTZ001


def test_variables_are_found() -> None:
    assert variables_in("$__timeFilter(x) ${a:sqlstring} $b ${a:sqlstring}") == {"a", "b"}


@pytest.mark.pg
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_whatever_somebody_calls_a_project_is_a_value(
    reader: psycopg.Connection[tuple[list[str]]], values: list[str]
) -> None:
    query = expand("SELECT ARRAY[${project:sqlstring}]::text[]", WHEN, {"project": values})
    assert reader.execute(query).fetchone() == (values,)
