"""Every document is in exactly one class, and unknown is not useless (P8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.curation import (
    SUGGESTIONS,
    Class,
    Earlier,
    Least,
    Standing,
    classify,
    suggestion_of,
    verdicts,
)
from ragledger.measures.curation_reasons import CLASSES, reason
from ragledger.measures.document_funnel import KINDS, NEVER_SEEN, Funnel, Said

DAY = 86400.0
TOWARDS_RETIRE = {"confirm": 0, None: 1, "revise": 2, "retire": 3}

counts = st.integers(0, 12)
moments = st.floats(0, 400 * DAY, allow_nan=False)
leasts = st.builds(
    Least,
    retrievals=st.integers(1, 6),
    votes=st.integers(1, 5),
    actors=st.integers(1, 4),
    ratio=st.sampled_from([0.51, 0.6, 2 / 3, 0.7, 0.75, 1.0]),
    stale_days=st.integers(1, 120),
)
said = st.builds(
    Said,
    useful=counts,
    not_useful=counts,
    actors=st.integers(1, 4),
    against=st.integers(0, 4),
    found=st.floats(0, 12),
    expected=st.floats(0, 12),
).filter(lambda one: one.votes)


@st.composite
def funnels(draw: st.DrawFn) -> Funnel:
    retrieved = draw(counts)
    admitted = draw(st.integers(0, retrieved))
    shown = draw(st.integers(0, admitted))
    first, last = sorted([draw(moments), draw(moments)])
    return Funnel(
        retrieved=retrieved,
        admitted=admitted,
        shown=shown,
        accessed=draw(st.integers(0, admitted)),
        expected_accessed=draw(st.floats(0, 10)) if shown else 0.0,
        best_place=draw(st.integers(1, 21)) if shown else None,
        first=first if retrieved else None,
        last=last if retrieved else None,
        said=draw(st.dictionaries(st.sampled_from(KINDS), said)) if admitted else {},
    )


earliers = st.builds(
    Earlier,
    retrieved=counts, admitted=counts, accessed=counts, judged=counts, useful=counts, not_useful=counts, last_day=moments,
)  # fmt: skip
standings = st.builds(
    Standing,
    newest=st.none() | moments,
    searches=counts,
    listed=st.sampled_from([None, True, False]),
    matched=st.booleans(),
    replaced=st.booleans(),
    missing_rows=st.booleans(),
    earlier=st.none() | earliers,
)


@given(funnels(), standings, leasts)
def test_every_document_is_in_exactly_one_class_with_its_reason(
    funnel: Funnel, standing: Standing, least: Least
) -> None:
    found = classify(funnel, standing, least)
    assert isinstance(found, Class)
    assert suggestion_of(found, standing, least) in (SUGGESTIONS.get(found), None)
    assert reason(found, funnel, standing, least)


@given(funnels(), standings, leasts, st.floats(0, 10), st.booleans(), st.booleans())
def test_an_exposure_without_a_vote_never_makes_a_document_useless(
    funnel: Funnel, standing: Standing, least: Least, expected: float, admitted: bool, shown: bool
) -> None:
    before = classify(funnel, standing, least)
    more = replace(
        funnel,
        retrieved=funnel.retrieved + 1,
        admitted=funnel.admitted + (admitted or shown),
        shown=funnel.shown + shown,
        expected_accessed=funnel.expected_accessed + (expected if shown else 0),
        best_place=(funnel.best_place or 1) if shown or funnel.best_place else None,
        first=funnel.first or 0.0,
        last=max(funnel.last or 0.0, standing.newest or 0.0),
    )
    after = classify(more, standing, least)
    if after is Class.not_useful:
        # A newer retrieval may show again what its votes said already: then they said so before.
        assert set(verdicts(funnel, least).values()) == {"not_useful"}
    if not funnel.said:
        assert suggestion_of(after, standing, least) != "retire"
    assert (after is Class.not_useful) <= (before is Class.not_useful or not funnel.retrieved)


@given(
    funnels().filter(lambda funnel: funnel.admitted > 0),
    standings,
    leasts,
    st.sampled_from(KINDS),
    st.booleans(),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_a_useful_vote_never_moves_a_document_towards_retire(
    funnel: Funnel, standing: Standing, least: Least, kind: Any, changed_mind: bool, by: tuple[float, float]
) -> None:
    before = classify(funnel, standing, least)
    one = funnel.said.get(kind, Said())
    bad = one.not_useful - (changed_mind and one.not_useful > 0)
    # A useful vote adds at least as much to what was found at its places as to what they let expect.
    more = {"found": one.found + max(by), "expected": one.expected + min(by)}
    voted = replace(
        funnel, said={**funnel.said, kind: replace(one, useful=one.useful + 1, not_useful=bad, **more)}
    )
    after = classify(voted, standing, least)
    steps = [TOWARDS_RETIRE[suggestion_of(found, standing, least)] for found in (before, after)]
    assert steps[1] <= steps[0]


@given(funnels(), standings, leasts)
def test_only_votes_that_say_so_retire_a_document(funnel: Funnel, standing: Standing, least: Least) -> None:
    if suggestion_of(classify(funnel, standing, least), standing, least) == "retire":
        assert max(one.not_useful for one in funnel.said.values()) >= least.votes
        assert max(one.against for one in funnel.said.values()) >= least.actors
        assert not any(
            one.useful and one.found >= one.expected
            for kind, one in funnel.said.items()
            if kind in verdicts(funnel, least)
        )
        assert "useful" not in verdicts(funnel, least).values()


SEEN = Funnel(
    retrieved=5, admitted=5, shown=5, expected_accessed=4.0, best_place=1, first=0.0, last=100 * DAY
)
HERE = Standing(newest=100 * DAY, searches=50)


def voted(**by_kind: tuple[int, int]) -> Funnel:
    return replace(
        SEEN,
        said={
            kind: Said(
                useful=good, not_useful=bad, actors=2, against=min(bad, 2), found=float(good), expected=4.0
            )
            for kind, (good, bad) in by_kind.items()
        },
    )


def against(actors: int, found: float, expected: float, good: int = 1) -> Funnel:
    """Voted down by 9 votes of some actors."""
    one = Said(useful=good, not_useful=9, actors=3, against=actors, found=found, expected=expected)
    return replace(SEEN, said={"human": one})


@pytest.mark.parametrize(
    ("funnel", "standing", "expected", "suggestion"),
    [
        (NEVER_SEEN, replace(HERE, listed=True), "never_retrieved", "revise"),
        (NEVER_SEEN, replace(HERE, listed=True, searches=29), "never_retrieved", None),
        (NEVER_SEEN, replace(HERE, listed=True, missing_rows=True), "not_known", None),
        (NEVER_SEEN, replace(HERE, listed=True, newest=None), "not_known", None),
        (NEVER_SEEN, replace(HERE, listed=True, matched=False), "not_known", None),
        (replace(SEEN, admitted=0, shown=0, expected_accessed=0.0, best_place=None), HERE, "never_admitted", "revise"),
        (replace(SEEN, retrieved=2, admitted=0, shown=0, best_place=None), HERE, "seldom_retrieved", None),
        (SEEN, HERE, "never_accessed", "revise"),
        (replace(SEEN, expected_accessed=2.9), HERE, "shown_low", None),
        (replace(SEEN, shown=0, expected_accessed=0.0, best_place=None), HERE, "shown_low", None),
        (replace(SEEN, accessed=1), HERE, "few_votes", None),
        (voted(human=(0, 2)), HERE, "few_votes", None),
        (voted(human=(0, 3)), HERE, "not_useful", "retire"),
        (voted(human=(1, 3)), HERE, "not_useful", "retire"),
        (against(1, 0.2, 0.9), HERE, "few_votes", None),  # what one actor says retires nothing
        (against(2, 0.2, 0.9), HERE, "not_useful", "retire"),
        (against(2, 1.0, 0.9), HERE, "disputed", "revise"),  # no worse than others at its ranks
        (against(2, 0.0, 0.0, good=0), HERE, "not_useful", "retire"),
        (voted(human=(2, 3)), HERE, "disputed", "revise"),
        (voted(human=(3, 1)), HERE, "useful", "confirm"),
        (voted(human=(2, 2)), HERE, "few_votes", None),
        (voted(human=(3, 0), agent=(0, 9)), HERE, "disputed", "revise"),
        (voted(human=(0, 2), agent=(0, 2)), HERE, "few_votes", None),  # kinds are never added up
        (voted(agent=(0, 3)), HERE, "not_useful", "retire"),
        (voted(human=(9, 0)), replace(HERE, newest=191 * DAY), "stale", "revise"),
        (voted(human=(9, 0)), replace(HERE, newest=190 * DAY), "useful", "confirm"),
        (voted(human=(0, 3)), replace(HERE, newest=191 * DAY), "not_useful", "retire"),
        (voted(human=(0, 3)), replace(HERE, listed=False), "gone", None),
        (voted(human=(0, 3)), replace(HERE, replaced=True), "replaced", None),
    ],
    ids=str,
)  # fmt: skip
def test_the_classes(funnel: Funnel, standing: Standing, expected: str, suggestion: str | None) -> None:
    found = classify(funnel, standing, Least())
    assert (found.value, suggestion_of(found, standing, Least())) == (expected, suggestion)


def earlier(last_day: float, **some: int) -> Earlier:
    nothing = dict.fromkeys(("retrieved", "admitted", "accessed", "judged", "useful", "not_useful"), 0)
    return Earlier(**nothing | some, last_day=last_day)


@pytest.mark.parametrize(
    ("funnel", "before", "expected"),
    [
        (NEVER_SEEN, earlier(50 * DAY, retrieved=4), "seldom_retrieved"),
        (NEVER_SEEN, earlier(5 * DAY, retrieved=4), "stale"),
        (
            replace(SEEN, admitted=0, shown=0, best_place=None),
            earlier(5 * DAY, retrieved=4, admitted=2),
            "not_known",
        ),
        (SEEN, earlier(5 * DAY, retrieved=4, admitted=2, accessed=1), "few_votes"),
        (SEEN, earlier(5 * DAY, retrieved=4, admitted=2, judged=1, useful=1), "few_votes"),
    ],
    ids=str,
)
def test_what_rollups_know_of_purged_days_is_never_called_never(
    funnel: Funnel, before: Earlier, expected: str
) -> None:
    standing = replace(HERE, listed=True, missing_rows=True, earlier=before)
    assert classify(funnel, standing, Least()).value == expected


@pytest.mark.parametrize(
    "wrong", [{"ratio": 0.5}, {"ratio": 1.1}, {"votes": 0}, {"actors": 0}, {"stale_days": 0}], ids=str
)
def test_minimums_that_could_decide_both_ways_or_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Least(**wrong)


def test_every_class_has_words() -> None:
    assert set(CLASSES) == set(Class)
