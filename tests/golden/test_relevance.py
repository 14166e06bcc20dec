"""What comes from ir_measures is what its definition says, to 1e-9; and where we say null instead, the test says so."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from golden.world import QUICK
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import ndcg_score

from ragledger.demo import cranfield
from ragledger.measures.relevance import MEASURES, first_useful, mean, measured, share, summed

CUT = 2
CRANFIELD = Path(os.environ.get("CRANFIELD", Path(__file__).parents[3] / "shared/data/cranfield"))
Grades = Mapping[str, int]


# --- the definitions, written out --------------------------------------------------------------------------


def _precision(grades: Grades, ids: Sequence[str], k: int) -> float:
    return sum(grades.get(each, 0) >= CUT for each in ids[:k]) / k


def _useful(grades: Grades) -> int:
    return sum(grade >= CUT for grade in grades.values())


def _ndcg(grades: Grades, ids: Sequence[str]) -> float:
    gained = [2 ** grades.get(each, 0) - 1 for each in ids[:10]]
    best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:10]
    return _discounted(gained) / _discounted(best)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _average_precision(grades: Grades, ids: Sequence[str]) -> float:
    at = [rank for rank, each in enumerate(ids, start=1) if grades.get(each, 0) >= CUT]
    return sum(n / rank for n, rank in enumerate(at, start=1)) / _useful(grades)


def _bpref(grades: Grades, ids: Sequence[str]) -> float:
    r, n = _useful(grades), len(grades) - _useful(grades)
    above, total = 0, 0.0
    for each in ids:
        if each in grades and grades[each] >= CUT:
            total += 1 - (min(above, r) / min(r, n) if above else 0)
        elif each in grades:
            above += 1
    return total / r


def expected(grades: Grades, ids: Sequence[str]) -> dict[str, float]:
    rank = first_useful(ids, frozenset(each for each, grade in grades.items() if grade >= CUT))
    condensed = [each for each in ids if each in grades]
    return {
        "nDCG@10": _ndcg(grades, ids),
        **{f"P@{k}": _precision(grades, ids, k) for k in (1, 3, 5, 10)},
        "P@10 condensed": _precision(grades, condensed, 10),
        "R@10": _precision(grades, ids, 10) * 10 / _useful(grades),
        "RR": 1 / rank if rank else 0.0,
        "AP": _average_precision(grades, ids),
        "Bpref": _bpref(grades, ids),
        "Judged@10": sum(each in grades for each in ids[:10]) / len(ids[:10]),
    }


def agrees(judgments: Mapping[str, Grades], run: Mapping[str, Sequence[str]]) -> None:
    found = measured(judgments, run, CUT)
    for question, ids in run.items():
        assert found[question] == pytest.approx(expected(judgments[question], ids), abs=1e-9), question


judged = st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(0, 3), min_size=1)
answers = st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, unique=True)


@QUICK
@given(judged.filter(lambda grades: max(grades.values()) >= CUT), answers)
def test_every_measure_is_its_definition_on_random_data(grades: Grades, ids: list[str]) -> None:
    if any(each in grades for each in ids):
        agrees({"q": grades}, {"q": ids})


@pytest.mark.skipif(not CRANFIELD.is_dir(), reason="the Cranfield files are not at hand")
@pytest.mark.parametrize("seed", range(5))
def test_every_measure_is_its_definition_on_cranfield(seed: int) -> None:
    passages, golden = cranfield.read(CRANFIELD)
    chance = random.Random(seed)
    judgments = {question.id: question.grades() for question in golden.answerable(CUT)}
    run = {}
    for question, grades in judgments.items():
        others = [passage.chunk_id for passage in chance.sample(passages, 40)]
        ids = list(dict.fromkeys([*others, *chance.sample(sorted(grades), min(4, len(grades)))]))
        chance.shuffle(ids)
        run[question] = ids
    assert len(run) == 222
    agrees(judgments, run)


@QUICK
@given(st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(0, 3), min_size=2), st.randoms())
def test_ndcg_is_that_of_scikit_learn(grades: Grades, chance: random.Random) -> None:
    ids = sorted(grades)
    grades = grades | {ids[0]: 2}
    chance.shuffle(ids)
    gains = np.array([[2.0 ** grades[each] - 1 for each in ids]])
    places = np.arange(len(ids), 0, -1, dtype=float)[None, :]
    found = measured({"q": grades}, {"q": ids}, CUT)["q"]["nDCG@10"]
    assert found == pytest.approx(ndcg_score(gains, places, k=10), abs=1e-9)


def test_the_order_is_the_retrievers_also_where_ids_would_be_sorted_otherwise() -> None:
    grades = {"a": 0, "b": 3}
    assert measured({"q": grades}, {"q": ["b", "a"]}, CUT)["q"]["P@1"] == 1.0
    assert measured({"q": grades}, {"q": ["a", "b"]}, CUT)["q"]["P@1"] == 0.0


def test_the_condensed_list_moves_up_what_was_judged_and_still_divides_by_ten() -> None:
    found = measured({"q": {"a": 0, "b": 2, "c": 2}}, {"q": ["a", "x", "y", "b", "z", "c"]}, CUT)["q"]
    assert (found["P@3"], found["P@10"], found["P@10 condensed"]) == (0.0, 0.2, 0.2)
    found = measured({"q": {"b": 2}}, {"q": [*"acdefghijk", "b"]}, CUT)["q"]
    assert (found["P@10"], found["P@10 condensed"]) == (0.0, 0.1)


def test_unknown_is_null_where_ir_measures_says_zero() -> None:
    judgments = {"none": {}, "useless": {"a": 0}, "partial": {"a": 1}, "useful": {"a": 3}}
    run = {"none": ["x"], "useless": ["a"], "partial": ["a"], "useful": ["x"]}
    found = measured(judgments, run, CUT)
    of_useful = [name for name in MEASURES if name not in {"nDCG@10", "Judged@10"}]
    for question in ("none", "useless", "partial"):
        assert {found[question][name] for name in of_useful} == {None}
    assert [found[question]["nDCG@10"] for question in judgments] == [None, None, 1.0, 0.0]
    assert [found[question]["Judged@10"] for question in judgments] == [0.0, 1.0, 1.0, 0.0]
    assert (found["useful"]["P@10"], found["useful"]["P@10 condensed"]) == (0.0, None)
    rr = ir_measures.RR(rel=CUT)
    said = {each.query_id: each.value for each in ir_measures.iter_calc([rr], judgments | {"none": {"z": 0}}, {q: {i: 1.0 for i in ids} for q, ids in run.items()})}  # fmt: skip
    assert said["useless"] == 0.0


def test_an_empty_answer_found_nothing_and_showed_nothing() -> None:
    found = measured({"q": {"a": 3}}, {"q": []}, CUT)["q"]
    assert found.pop("Judged@10") is None
    assert set(found.values()) == {0.0}
    assert measured({}, {}, CUT) == {}


@QUICK
@given(judged, answers, st.sampled_from("ABC"))
def test_an_unjudged_item_at_the_end_changes_nothing_but_the_judged_share(
    grades: Grades, ids: list[str], other: str
) -> None:
    before = measured({"q": grades}, {"q": ids}, CUT)["q"]
    after = measured({"q": grades}, {"q": [*ids, other]}, CUT)["q"]
    assert before | {"Judged@10": None} == pytest.approx(after | {"Judged@10": None}, abs=1e-12)
    assert after["Judged@10"] <= before["Judged@10"]


@QUICK
@given(judged, answers, st.sampled_from("abcdefghijklmnop"))
def test_a_better_grade_makes_no_precision_worse(grades: dict[str, int], ids: list[str], item: str) -> None:
    before = measured({"q": grades}, {"q": ids}, CUT)["q"]
    after = measured({"q": grades | {item: 3}}, {"q": ids}, CUT)["q"]
    for name in ("P@1", "P@3", "P@5", "P@10"):
        assert before[name] is None or before[name] <= after[name]


# --- means and shares --------------------------------------------------------------------------------------


def test_a_mean_is_over_those_that_have_a_value_and_its_interval_that_of_scipy() -> None:
    values = [0.1, 0.2, 0.6, 0.5, 0.4, 0.3]
    found = mean([*values, None, None])
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.value, found.n) == (pytest.approx(0.35, abs=1e-12), 6)
    assert found.interval == pytest.approx((low, high), abs=1e-9)


def test_a_mean_of_few_has_no_interval_and_of_none_no_value() -> None:
    assert mean([0.5, 0.7, None]) == (pytest.approx(0.6), 2, None)
    assert mean([None]) == (None, 0, None)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_p8_where_nothing_varies_there_is_no_interval(value: float) -> None:
    assert mean([value] * 5) == (value, 5, None)
    assert summed("nDCG@10", [value] * 40) == (pytest.approx(value), 40, None)


@pytest.mark.parametrize(("n", "of"), [(4, 5), (5, 5), (0, 5), (1, 2)])
def test_precision_at_one_is_a_share_of_questions_and_has_the_interval_of_one(n: int, of: int) -> None:
    values = [1.0] * n + [0.0] * (of - n) + [None]
    assert summed("P@1", values) == (pytest.approx(n / of), of, share(n, of))
    assert summed("P@1", [None]) == (None, 0, None)


def test_an_interval_stays_between_nothing_and_all() -> None:
    assert mean([0.0, 0.0, 0.0, 0.0, 1.0]).interval[0] == 0.0
    assert mean([1.0, 1.0, 1.0, 1.0, 0.0]).interval[1] == 1.0


@pytest.mark.parametrize(("n", "of"), [(0, 1), (1, 1), (3, 5), (15, 17), (0, 40), (999, 1000)])
def test_a_share_has_the_interval_of_scipys_wilson(n: int, of: int) -> None:
    expected = stats.binomtest(n, of).proportion_ci(method="wilson")
    assert share(n, of) == pytest.approx(tuple(expected), abs=1e-9)
    assert share(0, 0) is None


def test_the_first_useful_one_has_its_rank() -> None:
    assert first_useful(["x", "a", "b"], frozenset("ab")) == 2
    assert first_useful(["x"], frozenset("ab")) is None
