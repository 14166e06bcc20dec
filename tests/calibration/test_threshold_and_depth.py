from __future__ import annotations

import numpy as np
import pytest

from ragledger.measures.depth import Depth, RankFact, depth
from ragledger.measures.threshold import cut


def test_a_threshold_keeps_95_of_100_useful_hits() -> None:
    scores = np.concatenate([np.linspace(0.41, 1.4, 100), np.linspace(0.21, 0.6, 40)])
    useful = np.arange(140) < 100
    candidates = np.linspace(0.01, 1.0, 100)
    found = cut((scores, useful, np.arange(140)), (candidates, candidates), 10, 0.2)
    assert found is not None
    assert (found.running, found.same_number) == (0.2, pytest.approx(0.2))
    assert found.suggested == pytest.approx(0.46)
    assert found.useful_kept == 0.95
    assert found.dropped == pytest.approx(25 / 40)
    assert (found.running_candidates, found.suggested_candidates) == (pytest.approx(8.1), pytest.approx(5.5))
    assert found.low is not None
    assert found.low < 0.95


def test_other_weights_carry_the_threshold_over_to_their_scale_and_never_below() -> None:
    running = np.linspace(0.01, 1.0, 100)
    useful = np.ones(60, dtype=np.bool_)
    found = cut((np.full(60, 0.1), useful, np.arange(60)), (running, running * 3), 10, 0.5)
    assert found is not None
    assert found.same_number == pytest.approx(1.5)
    assert found.suggested == found.same_number
    assert found.useful_kept == 0.0
    assert found.dropped is None


def test_too_few_useful_hits_or_no_complete_candidates_tune_no_threshold() -> None:
    scores, useful = np.ones(60), np.ones(60, dtype=np.bool_)
    none = np.zeros(0)
    assert cut((scores[:49], useful[:49], np.arange(49)), (scores, scores), 10, 0.2) is None
    assert cut((scores, useful, np.arange(60)), (none, none), 0, 0.2) is None


def test_results_are_asked_for_as_far_down_as_useful_ones_are() -> None:
    ranks = [
        RankFact(1, 100, 80, 60.0),
        RankFact(2, 100, 40, 20.0),
        RankFact(3, 100, 20, 1.0),
        RankFact(4, 100, 10, 0.0),
    ]
    found = depth(ranks, 10)
    assert isinstance(found, Depth)
    # 75, 50, 5 and 0 useful hits are estimated: two ranks hold 96 % of them.
    assert (found.suggested, found.running, found.last) == (2, 10, 4)
    assert found.reached == pytest.approx(125 / 130)
    assert found.at_last == 0.0


def test_few_votes_at_the_bottom_do_not_call_for_fewer_results() -> None:
    ranks = [RankFact(rank, 100, 50 // rank, 25 / rank) for rank in range(1, 11)]
    found = depth(ranks, 10)
    assert isinstance(found, Depth)
    assert found.suggested == 10


def test_ranks_that_hardly_anybody_judged_say_nothing() -> None:
    few = "too few judged hits at the first ranks"
    assert depth([RankFact(1, 100, 80, 60.0), RankFact(2, 100, 4, 4.0)], 10) == few
    assert depth([RankFact(2, 100, 80, 60.0), RankFact(3, 100, 40, 4.0)], 10) == few
    assert depth([RankFact(1, 9, 9, 0.0), RankFact(2, 9, 9, 0.0)], 10) == "no judged hit was useful"
    assert depth([], None) == few


def test_ranks_that_nobody_voted_on_are_not_useless() -> None:
    top = [RankFact(rank, 100, 100, 30.0) for rank in range(1, 7)]
    below = [RankFact(7, 100, 4, 4.0), *(RankFact(rank, 100, 0, 0.0) for rank in range(8, 21))]
    ends = "votes end at rank 6, and what is shown below may be as useful"
    assert depth([*top, *below], 20) == depth([*top, *below], None) == ends
    # Votes fade out before they end: but the few below the last known rank say useful, every one of them.
    faded = [
        RankFact(1, 100, 80, 60.0),
        RankFact(2, 100, 40, 20.0),
        *(RankFact(n, 100, 20, 0.0) for n in (3, 4, 5, 6)),
    ]
    assert depth([*faded, *below], 20) == ends
    # Nobody asks for more than six, or the last known ranks and what was voted on below say that there is nothing.
    asked_for_six = depth([*top, *below], 6)
    nothing_below = depth([*faded, *below[1:]], 20)
    assert isinstance(asked_for_six, Depth)
    assert isinstance(nothing_below, Depth)
    assert (asked_for_six.suggested, nothing_below.suggested, nothing_below.last) == (6, 2, 6)
