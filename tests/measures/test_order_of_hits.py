"""nDCG' and bpref agree with libraries to 1e-9 where the definitions do, and the tests say where they do not."""

from __future__ import annotations

import random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Bpref, nDCG
from sklearn.metrics import ndcg_score

from ragledger.measures.bpref import bpref
from ragledger.measures.ndcg import ndcg

GAINS = (0, 1, 3, 7)


def library(measure: object, judgments: list[int | None]) -> float:
    """Of a list in which None is a hit that nobody judged, by ir_measures."""
    qrels = {"q": {f"d{n}": gain for n, gain in enumerate(judgments) if gain is not None}}
    run = {"q": {f"d{n}": float(len(judgments) - n) for n in range(len(judgments))}}
    found: float = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    return found


def test_ndcg_of_the_condensed_list_is_that_of_ir_measures() -> None:
    """Its gain is the grade itself, so the qrels hold 2^y - 1."""
    rng = random.Random(7)
    seen = 0
    for _ in range(150):
        judgments = [rng.choice((None, *GAINS)) for _ in range(rng.randint(2, 12))]
        found = ndcg([gain for gain in judgments if gain is not None])
        if found is not None:
            seen += 1
            assert found == pytest.approx(library(nDCG(judged_only=True), judgments), abs=1e-9)
    assert seen > 100


@given(st.lists(st.floats(0, 7), min_size=2, max_size=12).filter(lambda gains: len(set(gains)) > 1))
def test_ndcg_of_mean_gains_is_that_of_sklearn(gains: list[float]) -> None:
    scores = [float(len(gains) - n) for n in range(len(gains))]
    assert ndcg(gains) == pytest.approx(ndcg_score([gains], [scores]), abs=1e-9)


def test_where_all_grades_are_equal_there_is_no_ndcg_and_ir_measures_says_one_or_zero() -> None:
    assert ndcg([3, 3]) is None
    assert ndcg([0, 0]) is None
    assert ndcg([]) is None
    assert (library(nDCG, [3, 3]), library(nDCG, [0, 0])) == (1.0, 0.0)


def test_bpref_is_that_of_trec_eval() -> None:
    rng = random.Random(11)
    seen = 0
    for _ in range(150):
        judgments = [rng.choice((None, 0, 1)) for _ in range(rng.randint(2, 12))]
        found = bpref([gain == 1 for gain in judgments if gain is not None])
        if found is not None:
            seen += 1
            assert found == pytest.approx(library(Bpref, judgments), abs=1e-9)
    assert seen > 100


def test_bpref_needs_a_hit_of_each_kind_where_trec_eval_says_one_or_zero() -> None:
    assert bpref([True, True]) is None
    assert bpref([False]) is None
    assert (library(Bpref, [1, 1]), library(Bpref, [0])) == (1.0, 0.0)


def test_bpref_divides_by_the_smaller_of_both_counts_where_ranx_divides_by_the_useful_ones() -> None:
    """One useless hit above two useful ones: 0, where ranx gives 1/2."""
    assert bpref([False, True, True]) == 0.0


@given(st.lists(st.booleans(), min_size=2, max_size=12), st.data())
def test_a_useful_hit_that_moves_up_lowers_neither(verdicts: list[bool], data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(verdicts) - 1))
    better = list(verdicts)
    if better[place] and not better[place - 1]:
        better[place - 1], better[place] = better[place], better[place - 1]
    for measure in (bpref, lambda said: ndcg([3.0 * one for one in said])):
        before, after = measure(verdicts), measure(better)
        assert (before is None) == (after is None)
        assert before is None or after >= before - 1e-12
