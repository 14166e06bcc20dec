from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures.some_facts import (
    FIRST,
    ballot,
    by_actors,
    judged,
    shown,
    some_facts,
    some_measurement,
    vote,
    voted,
)

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


def test_p8_accesses_that_nobody_records_are_null_and_not_zero() -> None:
    silent = some_measurement(votes=judged("1111222233334444", 1, 2, 3))
    assert (silent.funnel.accessed, silent.funnel.accessed_rate) == (None, None)
    assert {reached.accessed for reached in silent.funnel.voters.values()} == {None}
    assert {at.accessed for at in (*silent.ranks.at, silent.ranks.beyond)} == {None}
    assert {said.accessed for said in silent.ranks.beyond.voters.values()} == {None}
    known = voted().funnel
    assert (known.accessed, known.voters["human"].accessed, known.voters["agent"].accessed) == (4, 4, 0)


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
    assert found["schema"] == 3
    assert list(found) == [
        *("schema", "useful_from", "cuts", "window", "searches", "by_surface", "by_session", "by_actor_kind"),
        *(
            "skipped",
            "degraded",
            "vector",
            "epochs",
            "precision",
            "ranks",
            "funnel",
            "agreement",
            "diagnosis",
        ),
        "assessments",
    ]
    precision = found["precision"]
    assert list(precision) == ["order", "across", "overall", "by_epoch", "by_actor_kind", "by_surface"]
    human = precision["overall"]["human"]
    assert list(human) == ["at", "ndcg", "bpref", "votes", "actors", "searches", "not_delivered"]
    assert list(human["at"]) == ["1", "3", "5", "10"]
    assert list(human["at"]["1"]) == [
        *("precision", "interval", "clustered_by", "useful", "judged", "shown", "judged_share", "bounds"),
        *("searches", "actors", "thin", "macro"),
    ]
    assert list(human["ndcg"]) == ["mean", "interval", "searches", "without"]
    assert msgspec.convert(found, Measurement, strict=False).funnel == voted().funnel


def test_pooled_and_macro_precision_are_two_numbers() -> None:
    """One search with three useless hits and one with a useful one: 1/4 of the hits, one half of the searches."""
    votes = [ballot("e", *(vote(n, 0) for n in (1, 2, 3))), ballot("e", vote(1, 1))]
    at = some_measurement(votes=votes).precision.overall["human"].at[3]
    assert (at.precision, at.macro.mean) == (0.25, 0.5)
    assert (at.macro.searches, at.macro.without) == (2, 28)


def test_the_bounds_hold_what_the_precision_of_everything_shown_could_be() -> None:
    at = (
        some_measurement(shown=[shown("e", 1, 10)], votes=judged("e", 1, 2, 3))
        .precision.overall["human"]
        .at[1]
    )
    assert at.bounds is not None
    assert (at.bounds.low, at.bounds.high) == (0.2, 0.9)


def test_with_few_voters_the_wider_interval_stands_and_says_so() -> None:
    votes = judged("e", 1, 60, 100)
    searches = some_measurement(votes=[*votes, by_actors(25, 60, 100, 1)]).precision.overall["human"].at[1]
    actors = some_measurement(votes=[*votes, by_actors(3, 60, 100, 1)]).precision.overall["human"].at[1]
    alone = some_measurement(votes=[*votes, by_actors(1, 60, 100, 1)]).precision.overall["human"].at[1]
    assert (searches.clustered_by, actors.clustered_by, alone.clustered_by) == ("search", "actor", "search")
    assert searches.interval is not None
    assert actors.interval is not None
    assert actors.interval.low < searches.interval.low < searches.interval.high < actors.interval.high
    assert alone.interval == searches.interval
    assert alone.actors == 1


def test_one_number_has_one_range_in_the_table_and_in_the_diagnosis() -> None:
    votes = judged("1111222233334444", 1, 60, 100)
    few = [
        by_actors(3, 60, 100, k, what="epoch", epoch="1111222233334444", useful_sq=2000.0) for k in (3, None)
    ]
    found = some_measurement(votes=[*votes, *few])
    at = found.precision.by_epoch["1111222233334444"].voters["human"].at[3]
    assert at.clustered_by == "actor"
    assert found.diagnosis[0].top.interval == at.interval
    assert "only 3 voters" in found.diagnosis[0].because[0]


@pytest.mark.parametrize(("hits", "thin"), [(29, True), (30, False)])
def test_a_number_from_few_votes_is_called_thin(hits: int, thin: bool) -> None:
    assert some_measurement(votes=judged("e", 1, 10, hits)).precision.overall["human"].at[1].thin is thin


def test_a_rate_has_an_interval_with_one_search_for_one_trial() -> None:
    found = some_measurement().searches.hit_rate
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.7438, 0.9654), abs=1e-4)


evidence = st.lists(
    st.builds(
        lambda useful, n: ballot("e", *(vote(p, u) for p, u in useful.items()), searches=n),
        st.dictionaries(st.integers(1, 12), st.integers(0, 1), min_size=1, max_size=4),
        st.integers(1, 5),
    ),
    min_size=1,
    max_size=6,
)


@given(evidence, st.integers(1, 12))
def test_a_useful_vote_lowers_nothing_and_a_useless_one_raises_nothing(
    votes: list[Any], position: int
) -> None:
    """In another search, with whatever votes there were before: pooled precision, its bounds, and macro precision."""
    room = [shown("e", p, 100) for p in range(1, 13)]
    before = some_measurement(shown=room, votes=votes).precision.overall["human"]
    better = some_measurement(shown=room, votes=[*votes, ballot("e", vote(position, 1))])
    worse = some_measurement(shown=room, votes=[*votes, ballot("e", vote(position, 0))])
    for k, at in before.at.items():
        up, down = better.precision.overall["human"].at[k], worse.precision.overall["human"].at[k]
        for name, of in NUMBERS.items():
            now = of(at)
            if now is None:
                assert (of(up), of(down)) in {(1.0, 0.0), (None, None)} or name.endswith("bound")
            else:
                assert of(down) <= now + 1e-12, name
                assert of(up) >= now - 1e-12, name


NUMBERS: dict[str, Any] = {
    "precision": lambda at: at.precision,
    "macro": lambda at: at.macro.mean,
    "lower bound": lambda at: at.bounds and at.bounds.low,
    "upper bound": lambda at: at.bounds and at.bounds.high,
}


@given(evidence)
def test_null_stays_null_for_every_kind_of_voters_that_said_nothing(votes: list[Any]) -> None:
    found = some_measurement(votes=votes).precision
    for kind in ("agent", "judge", "system"):
        said = found.overall[kind]  # type: ignore[index]
        assert {at.precision for at in said.at.values()} == {None}
        assert {at.interval for at in said.at.values()} == {None}
        assert {at.macro.mean for at in said.at.values()} == {None}
        assert (said.ndcg.mean, said.bpref.mean) == (None, None)


@given(evidence, st.integers(1, 25), st.integers(1, 50))
def test_one_more_hit_without_a_vote_changes_no_precision_and_raises_no_judged_share(
    votes: list[Any], position: int, hits: int
) -> None:
    room = [shown("e", p, 100) for p in range(1, 13)]
    before = some_measurement(shown=room, votes=votes)
    after = some_measurement(shown=[*room, shown("e", position, hits)], votes=votes)
    for k, at in before.precision.overall["human"].at.items():
        more = after.precision.overall["human"].at[k]
        assert (more.precision, more.interval, more.macro) == (at.precision, at.interval, at.macro)
        assert (more.useful, more.judged) == (at.useful, at.judged)
        assert (more.judged_share or 0) <= (at.judged_share or 0)
    assert after.precision.overall["human"].ndcg == before.precision.overall["human"].ndcg
