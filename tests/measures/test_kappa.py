from __future__ import annotations

import math
import random
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures.some_facts import ballot, vote
from sklearn.metrics import cohen_kappa_score

from ragledger.measures.kappa import Pair, agreed, pairs

said = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def alone(verdicts: list[Pair]) -> list[tuple[list[Pair], int]]:
    """One hit per search."""
    return [([pair], 1) for pair in verdicts]


@given(said)
def test_kappa_is_that_of_sklearn_and_null_where_that_is_undefined(verdicts: list[Pair]) -> None:
    found = agreed(alone(verdicts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cohen_kappa_score([a for a, _ in verdicts], [b for _, b in verdicts])
    if found.kappa is None:
        assert len({verdict for pair in verdicts for verdict in pair}) == 1
    else:
        assert found.kappa == pytest.approx(expected, abs=1e-9)
    assert found.share == sum(a == b for a, b in verdicts) / len(verdicts)


def test_the_interval_of_kappa_is_that_of_fleiss_cohen_and_everitt_when_no_hits_share_a_search() -> None:
    """Psychological Bulletin 72 (1969), the asymptotic variance, on 40, 9, 6 and 45 hits."""
    counts = {(True, True): 40, (True, False): 9, (False, True): 6, (False, False): 45}
    found = agreed([([pair], n) for pair, n in counts.items()])
    n = sum(counts.values())
    p = {pair: count / n for pair, count in counts.items()}
    first = {a: p[a, True] + p[a, False] for a in (True, False)}
    second = {b: p[True, b] + p[False, b] for b in (True, False)}
    equal, chance = p[True, True] + p[False, False], sum(first[a] * second[a] for a in (True, False))
    kappa = (equal - chance) / (1 - chance)
    diagonal = sum(p[a, a] * (1 - (first[a] + second[a]) * (1 - kappa)) ** 2 for a in (True, False))
    rest = (1 - kappa) ** 2 * sum(
        p[a, b] * (second[a] + first[b]) ** 2 for a in (True, False) for b in (True, False) if a != b
    )
    variance = (diagonal + rest - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    assert found.kappa_interval is not None
    half = (found.kappa_interval.high - found.kappa_interval.low) / 2
    assert half == pytest.approx(1.984217 * math.sqrt(variance * n / (n - 1)), rel=1e-6)


def test_hits_of_one_search_that_agree_alike_make_the_intervals_wider() -> None:
    rng = random.Random(3)
    searches = [[(rng.random() < 0.6, rng.random() < 0.6)] * 4 for _ in range(40)]
    together = agreed([(one, 1) for one in searches])
    apart = agreed(alone([pair for one in searches for pair in one]))
    assert together.kappa == apart.kappa
    for wide, narrow in (
        (together.interval, apart.interval),
        (together.kappa_interval, apart.kappa_interval),
    ):
        assert wide is not None
        assert narrow is not None
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_nothing_is_said_of_kappa_where_chance_alone_makes_all_equal() -> None:
    found = agreed(alone([(True, True)] * 30))
    assert (found.share, found.kappa, found.kappa_interval) == (1.0, None, None)


def test_only_hits_that_both_kinds_judged_count_and_split_ones_have_no_verdict() -> None:
    paper = ballot(
        "e",
        vote(1, 1, 1, voter=1, rank=1),
        vote(1, 1, 1, voter=2, rank=1),
        vote(2, 1, 2, voter=1, rank=2),
        vote(2, 0, 1, voter=2, rank=2),
        vote(3, 0, 1, voter=1, rank=3),
        searches=5,
    )
    found = agreed(*pairs([paper], "human", "agent"))
    assert (found.hits, found.split, found.searches, found.equal) == (5, 5, 5, 5)
    assert pairs([paper], "human", "judge") == ([], 0)


def test_no_hit_in_common_is_null_and_not_zero() -> None:
    found = agreed([])
    assert (found.hits, found.share, found.interval, found.kappa) == (0, None, None, None)
