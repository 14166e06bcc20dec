from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragledger.measures.pairs import ordered, pairs_of, right_by_query, within_searches

hits = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=30)


@given(hits)
def test_every_useful_hit_meets_every_other_one_of_its_search_and_no_other(
    votes: list[tuple[int, bool]],
) -> None:
    search = np.array([s for s, _ in votes], dtype=np.int64)
    useful = np.array([u for _, u in votes], dtype=np.bool_)
    left, right = within_searches(search, useful)
    expected = {
        (i, j)
        for i, (a, good) in enumerate(votes)
        for j, (b, other) in enumerate(votes)
        if a == b and good and not other
    }
    found = list(zip(left.tolist(), right.tolist(), strict=True))
    assert set(found) == expected
    assert len(found) == len(expected)


def test_a_pair_is_right_wrong_or_undecided() -> None:
    gaps = np.array([[1.0, -1.0], [-1.0, 0.0], [1.0, -3.0]])
    assert ordered(gaps, np.array([0.5, 0.5])).tolist() == [0.5, 0.0, 0.0]
    assert ordered(gaps, np.array([0.8, 0.2])).tolist() == [1.0, 0.0, 1.0]


def test_a_vote_that_the_weights_agree_with_never_lowers_their_objective() -> None:
    gaps = np.array([[1.0, -1.0], [-1.0, 0.0]])
    weights = np.array([[0.8, 0.2]])
    before, of = right_by_query(pairs_of(gaps, np.array([1, 2]), np.zeros(2)), weights)
    more = np.vstack([gaps, [[2.0, 1.0]]])
    after, of_more = right_by_query(pairs_of(more, np.array([1, 2, 2]), np.zeros(3)), weights)
    assert after.sum() / of_more.sum() == 2 / 3
    assert before.sum() / of.sum() == 1 / 2


def test_questions_are_counted_apart_also_when_their_pairs_come_mixed() -> None:
    gaps = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    pairs = pairs_of(gaps, np.array(["b", "a", "b", "c"]), np.array([1.0, 0.0, 1.0, 1.0]))
    right, total = right_by_query(pairs, np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert right.tolist() == [[0.0, 0.5], [2.0, 1.0], [1.0, 0.5]]
    assert total.tolist() == [1.0, 2.0, 1.0]
    kept = pairs.of(np.array([False, True, True]))
    assert kept.query.tolist() == [0, 0, 1]
    assert kept.gaps[:, 0].tolist() == [1.0, 2.0, 1.0]


def test_many_pairs_are_counted_in_parts_as_in_one_go() -> None:
    chance = np.random.default_rng(5)
    gaps, query = chance.normal(0, 1, (120_001, 2)), np.sort(chance.integers(0, 999, 120_001))
    weights = np.array([[0.3, 0.7]])
    right, total = right_by_query(pairs_of(gaps, query, np.zeros(len(query))), weights)
    expected = np.bincount(query, ordered(gaps, weights[0]))
    assert right[:, 0].tolist() == expected[np.unique(query)].tolist()
    assert total.sum() == 120_001
