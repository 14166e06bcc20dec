from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures.some_facts import FIRST, judged, shown, some_facts, some_measurement, voted

from ragledger.measures.report import Measurement, Window
from ragledger.measures.summary import KINDS


def test_without_votes_every_precision_is_null_for_every_kind_of_voter() -> None:
    overall = some_measurement().precision.overall
    assert tuple(overall) == KINDS
    assert {at.precision for voter in overall.values() for at in voter.at.values()} == {None}
    assert overall["human"].at[10].shown == 39


def test_every_share_stands_beside_the_counts_it_was_made_of() -> None:
    at = voted().precision.overall["human"].at[1]
    assert at.precision == at.useful / at.judged == 0.5
    assert at.judged_share == at.judged / at.shown


def test_a_hit_that_was_not_delivered_is_in_the_funnel_and_in_no_cut() -> None:
    found = voted()
    assert found.precision.overall["human"].not_delivered == 1
    assert found.funnel.voters["human"].judged == found.precision.overall["human"].at[10].judged + 1


def test_an_epoch_without_an_ok_search_is_listed_and_not_pooled() -> None:
    facts = some_facts().epochs[0]
    failed = msgspec.structs.replace(facts, epoch="9999", ok=0)
    found = some_measurement(epochs=[facts, failed])
    assert len(found.epochs) == 2
    assert found.precision.across.epochs == 1


def test_p95_is_null_below_twenty_timed_searches() -> None:
    few = [msgspec.structs.replace(fact, timed=19) for fact in some_facts().groups]
    assert some_measurement(groups=few).searches.latency.p95_ms is None
    assert some_measurement().searches.latency.p95_ms == 80.25


def test_moments_are_written_in_utc_whatever_zone_they_came_in() -> None:
    nepal = timezone(timedelta(hours=5, minutes=45))
    found = some_measurement(Window(since=FIRST.astimezone(nepal)))
    assert b'"since":"2026-03-01T09:00:00Z"' in msgspec.json.encode(found)


def test_a_window_needs_a_time_zone_and_must_begin_before_it_ends() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Window(since=datetime(2026, 3, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="begin before"):
        Window(since=FIRST, until=FIRST)


def test_the_json_keeps_its_names() -> None:
    """Programs read it: a name that goes, or changes its meaning, changes `schema`."""
    found = msgspec.json.decode(msgspec.json.encode(voted()))
    assert found["schema"] == 1
    assert list(found) == [
        "schema",
        "useful_from",
        "cuts",
        "window",
        "searches",
        "by_surface",
        "by_session",
        "by_actor_kind",
        "skipped",
        "degraded",
        "vector",
        "epochs",
        "precision",
        "ranks",
        "funnel",
    ]
    assert list(found["precision"]) == ["order", "across", "overall", "by_epoch", "by_actor_kind"]
    assert list(found["precision"]["overall"]["human"]["at"]) == ["1", "3", "5", "10"]
    assert msgspec.convert(found, Measurement, strict=False).funnel == voted().funnel


@given(st.integers(1, 25), st.integers(1, 50))
def test_one_more_hit_without_a_vote_changes_no_precision_and_raises_no_judged_share(
    position: int, hits: int
) -> None:
    evidence = [judged("e", 1, 2, 3), judged("e", 8, 1, 1)]
    before = some_measurement(shown=[shown("e", 1, 10)], judged=evidence)
    after = some_measurement(shown=[shown("e", 1, 10), shown("e", position, hits)], judged=evidence)
    for k, at in before.precision.overall["human"].at.items():
        more = after.precision.overall["human"].at[k]
        assert (more.precision, more.useful, more.judged) == (at.precision, at.useful, at.judged)
        assert (more.judged_share or 0) <= (at.judged_share or 0)
