from __future__ import annotations

import numpy as np
import pytest
from calibration.some_pairs import FUSIONS, SIGNALS, epoch, hit, search
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ragledger.measures.calibration import Used
from ragledger.measures.calibration_notes import untold
from ragledger.measures.crossfit import cross_fitted
from ragledger.measures.decision import decide
from ragledger.measures.evidence import Evidence, HitFact, SearchFact, evidence

CURRENT = epoch()


def weighed(searches: list[SearchFact], hits: list[HitFact], **given: bool) -> Evidence:
    return evidence(searches, hits, FUSIONS, CURRENT, **given)


def pair(number: int) -> list[HitFact]:
    return [hit(number, 1, 0.9, 0.1, useful=0), hit(number, 2, 0.5, 0.8)]


@pytest.mark.parametrize(
    ("reason", "given"),
    [
        ("other_index", {"index_version": "v2"}),
        ("other_index", {"embedding_model": None, "degraded": True}),
        ("degraded", {"degraded": True}),
        ("not_effective", {"epoch": "unread"}),
        ("other_fusion", {"epoch": "scaled"}),
        ("several_queries", {"signals": {**SIGNALS, "vector@2": {}}}),
        ("single_signal", {"signals": {"lexical": SIGNALS["lexical"]}}),
        ("single_signal", {"signals": None}),
    ],
)
def test_a_search_that_cannot_be_used_is_counted_for_its_first_reason(
    reason: str, given: dict[str, object]
) -> None:
    found = weighed([search(1), search(2, **given)], [*pair(1), *pair(2)])
    assert structs.asdict(found.excluded)[reason] == 1
    assert sum(structs.astuple(found.excluded)) == 1
    assert (found.used.searches, found.used.pairs) == (1, 1)


def test_one_sided_votes_and_missing_signals_are_counted() -> None:
    hits = [
        *pair(1),
        hit(2, 1, 0.9, 0.1),
        hit(2, 2, 0.8, 0.1),
        hit(3, 1, 0.9, None),
        hit(3, 2, 0.5, 0.8, useful=0),
    ]
    found = weighed([search(1), search(2), search(3)], hits)
    assert (found.excluded.one_sided, found.excluded.missing_leg) == (1, 1)
    assert (found.counts.found, found.counts.missing_leg) == (2, 1)
    assert found.used.votes == 2


def test_a_signal_that_was_not_scored_is_zero_only_when_asked_for() -> None:
    hits = [hit(1, 1, 0.9, None), hit(1, 2, 0.5, 0.8, useful=0)]
    assert len(weighed([search(1)], hits).pairs.query) == 0
    found = weighed([search(1)], hits, impute_zero=True)
    assert (found.pairs.gaps * found.scale).tolist() == [[pytest.approx(0.4), pytest.approx(-0.8)]]
    assert found.counts.missing_leg == 0


def test_the_majority_of_voters_decides_and_an_even_split_is_neither() -> None:
    hits = [
        hit(1, 1, 0.9, 0.1, useful=1, votes=3),
        hit(1, 2, 0.5, 0.8, useful=2, votes=3),
        hit(1, 3, 0.4, 0.4, useful=1, votes=2),
    ]
    found = weighed([search(1)], hits)
    assert (found.counts.found, found.counts.split_hits) == (1, 1)
    assert found.pairs.running.tolist() == [0.0]
    assert found.used.votes == 6


def test_a_question_is_its_key_and_a_search_without_one_is_its_own() -> None:
    searches = [
        search(1, query_key=b"a"),
        search(2, query_key=b"a"),
        search(3, query_key=None),
        search(4, query_key=None),
    ]
    found = weighed(searches, [one for number in (1, 2, 3, 4) for one in pair(number)])
    assert (found.used.questions, found.used.searches, found.used.unkeyed) == (3, 4, 2)


def test_without_keys_searches_that_found_the_same_are_one_question() -> None:
    searches = [
        search(1, query_key=None, candidates="a"),
        search(2, query_key=None, candidates="a"),
        search(3, query_key=b"k", candidates="b"),
        search(4, query_key=None, candidates="b"),  # as search 3, before keys were switched on
        search(5, query_key=b"l", candidates="b"),  # another key is another question
        search(6, query_key=None, candidates=None),
        search(7, query_key=None, candidates=None),
    ]
    found = weighed(searches, [one for number in range(1, 8) for one in pair(number)])
    assert (found.used.questions, found.used.unkeyed) == (5, 5)


def test_questions_that_recur_without_keys_are_not_changed_for_noise() -> None:
    """60 questions, asked 5 times each, answered and voted on alike, where the best weights run: nothing to gain."""
    changes = 0
    for seed in range(40):
        chance = np.random.default_rng(seed)
        useful = chance.random((60, 5)) < 0.5
        scores = 0.1 * useful[:, :, None] + chance.normal(0, 0.085, (60, 5, 2))
        asked = [(number, number % 60) for number in range(300)]
        searches = [search(n, epoch="e0", query_key=None, candidates=f"c{question}") for n, question in asked]
        hits = [
            hit(n, rank + 1, *scores[question, rank].tolist(), useful=int(useful[question, rank]))
            for n, question in asked
            for rank in range(5)
        ]
        found = evidence(searches, hits, FUSIONS, epoch("e0", 0.5, 0.5))
        changes += decide(cross_fitted(found.pairs, seed)) == "recommend"
    assert changes <= 40 * (0.05 + 1.645 * (0.05 * 0.95 / 40) ** 0.5)


@pytest.mark.parametrize(("unkeyed", "lines"), [(0, 0), (10, 0), (11, 1), (100, 1)])
def test_a_tenth_of_the_searches_may_lack_a_key(unkeyed: int, lines: int) -> None:
    used = Used(searches=100, hits=1, pairs=1, questions=1, votes=1, actors=1, unkeyed=unkeyed)
    assert len(untold(used)) == lines


def test_actors_without_an_id_are_one() -> None:
    hits = [
        structs.replace(one, actors=[name])
        for one, name in zip([*pair(1), *pair(2)], ["ana", None, None, "bo"], strict=True)
    ]
    assert weighed([search(1), search(2)], hits).used.actors == 3


def test_epochs_that_differ_in_weights_alone_are_pooled() -> None:
    assert weighed([search(1), search(2, epoch="e0")], [*pair(1), *pair(2)]).used.searches == 2


votes = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.integers(0, 2),
        st.sampled_from([0.1, 0.5, 0.9, None]),
        st.sampled_from([0.2, None]),
    ),
    max_size=25,
)


@given(votes, st.booleans())
def test_every_voted_search_is_used_or_counted_and_every_pair_too(
    given_votes: list[tuple[int, int, float | None, float | None]], degraded: bool
) -> None:
    hits = [hit(n, place, v, x, useful=u, votes=2) for place, (n, u, v, x) in enumerate(given_votes, 1)]
    searches = [search(number, degraded=degraded and number == 1) for number in range(1, 6)]
    found = weighed(searches, hits)
    assert found.used.searches + sum(structs.astuple(found.excluded)) == 5
    assert found.used.pairs + found.counts.missing_leg == found.counts.found
    assert not np.isnan(found.pairs.gaps).any()


@given(votes)
def test_an_unjudged_hit_and_a_search_without_a_pair_change_no_pair(
    given_votes: list[tuple[int, int, float | None, float | None]],
) -> None:
    hits = [hit(n, place, v, x, useful=u, votes=2) for place, (n, u, v, x) in enumerate(given_votes, 1)]
    searches = [search(number) for number in range(1, 6)]
    before = weighed(searches, hits)
    after = weighed([*searches, search(9)], [*hits, hit(9, 1, 0.1, 0.1)])
    assert after.pairs.gaps.tolist() == before.pairs.gaps.tolist()
    assert after.excluded.one_sided == before.excluded.one_sided + 1
