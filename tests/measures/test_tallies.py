"""Counts of searches from rows that are alike; that they equal slow Python on any table is test_sql_equals_oracle.py."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from measures.some_facts import FIRST, LAST
from msgspec import structs

from ragledger.measures import tallies
from ragledger.measures.facts import AlikeFact, LatencyFact, WeightsFact


def alike(**given: Any) -> AlikeFact:
    fact = AlikeFact(
        "shop",
        "handbook",
        "e1",
        "study",
        True,
        "human",
        "ok",
        None,
        False,
        None,
        True,
        False,
        10,
        FIRST,
        LAST,
    )
    return structs.replace(fact, **given)


def test_a_search_counts_in_all_in_its_surface_in_its_session_and_in_its_kind_of_actor() -> None:
    found = tallies.groups([alike(), alike(status="error", surface=None, searches=3)], [])
    counts = {(one.grouped_by, one.surface): (one.ok, one.error) for one in found}
    assert counts["all", None] == counts["session", None] == counts["actor_kind", None] == (10, 3)
    assert (counts["surface", "study"], counts["surface", None]) == ((10, 0), (0, 3))


def test_a_group_of_which_no_search_was_timed_has_no_percentile() -> None:
    took = LatencyFact("all", None, None, None, 4, 1.5, 2.5)
    found = {one.grouped_by: one for one in tallies.groups([alike()], [took])}
    assert (found["all"].timed, found["all"].p50_ms, found["all"].p95_ms) == (4, 1.5, 2.5)
    assert (found["surface"].timed, found["surface"].p50_ms, found["surface"].p95_ms) == (0, None, None)


def test_the_latest_search_of_an_epoch_is_looked_for_wherever_it_may_be_and_not_among_the_skipped() -> None:
    later = LAST + timedelta(microseconds=1)
    rows = [
        alike(project="shop", last_search=later),
        alike(project="desk", last_search=later),
        alike(project="old", last_search=LAST),
        alike(project="idle", status="skipped", skip_reason="no_goal", last_search=later + timedelta(days=1)),
    ]
    assert tallies.latest(rows) == [("desk", "e1", later), ("shop", "e1", later)]


def test_an_epoch_spans_its_searches_that_ran_whatever_else_they_differ_in() -> None:
    rows = [
        alike(first_search=FIRST + timedelta(days=1)),
        alike(status="error", surface="agent", last_search=LAST - timedelta(hours=1)),
        alike(epoch="e2", searches=1),
        alike(status="skipped", skip_reason="no_goal", searches=5),
    ]
    weights = [WeightsFact("e1", {"effective": {"vector": 0.6}}, "v1", None)]
    [epoch] = tallies.epochs(rows, weights)
    assert (epoch.searches, epoch.ok, epoch.first_seen, epoch.last_seen) == (20, 10, FIRST, LAST)


def test_a_skipped_search_is_skipped_for_its_reason_and_never_degraded() -> None:
    rows = [
        alike(status="skipped", skip_reason="no_goal", degraded=True, vector_available=None),
        alike(degraded=True, degraded_reason=None, searches=2, vector_available=False, delivered=True),
    ]
    found = tallies.conditions(rows)
    assert (found.degraded, found.vector_available, found.vector_unavailable, found.vector_unknown) == (
        2,
        0,
        2,
        10,
    )
    assert found.delivered == 2
    assert [(one.what, one.reason, one.searches) for one in tallies.reasons(rows)] == [
        ("skipped", "no_goal", 10),
        ("degraded", None, 2),
    ]
