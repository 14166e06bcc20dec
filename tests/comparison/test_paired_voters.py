"""What few voters add to the uncertainty of a paired difference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ragledger.measures.paired import Paired, differences, paired
from ragledger.measures.paired_voters import Said, VotersTerm, voters_term

Row = tuple[int, bool, int, float, float]
"""Question, of B, actor, useful, judged."""

rows = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3), st.integers(0, 2), st.just(2)).map(
        lambda row: (row[0], row[1], row[2], float(row[3]), float(row[4]))
    ),
    min_size=1,
    max_size=30,
)


def said(drawn: list[Row]) -> Said:
    question, of_b, actor, useful, judged = zip(*drawn, strict=True)
    return Said(
        question=np.array(question), of_b=np.array(of_b, dtype=bool), actor=np.array(actor),
        useful=np.array(useful, dtype=float), judged=np.array(judged, dtype=float),
    )  # fmt: skip


def by_hand(drawn: list[Row]) -> tuple[int, float] | None:
    """Each voter is really left out, and the share of each side computed anew; in plain Python."""
    both = {q for q, b, *_ in drawn if b} & {q for q, b, *_ in drawn if not b}
    used = [row for row in drawn if row[0] in both]
    per = {(q, b): sum(j for one, side, _, _, j in used if (one, side) == (q, b)) for q, b, *_ in used}

    def share(b: bool, without: int | None = None) -> float:
        mine = [row for row in used if row[1] == b and row[2] != without]
        weight = sum(j / per[q, b] for q, _, _, _, j in mine)
        return sum(u / per[q, b] for q, _, _, u, _ in mine) / weight

    voters = {b: {row[2] for row in used if row[1] == b} for b in (False, True)}
    fewest, n = min(map(len, voters.values())), len(both)
    if fewest < 2 or n < 2:
        return None
    everybody = voters[False] | voters[True]
    moved = [(share(True, one) - share(False, one)) - (share(True) - share(False)) for one in everybody]
    of_voters = (len(everybody) - 1) / len(everybody) * math.fsum(x * x for x in moved)
    cells: dict[tuple[int, int], float] = {}
    for q, b, actor, u, j in used:
        left = (u - share(b) * j) / per[q, b] / n
        cells[q, actor] = cells.get((q, actor), 0.0) + (left if b else -left)
    return fewest, max(of_voters - n / (n - 1) * math.fsum(x * x for x in cells.values()), 0.0)


@given(rows)
@settings(max_examples=60)
def test_it_is_what_leaving_out_each_voter_moves(drawn: list[Row]) -> None:
    ours, theirs = voters_term(said(drawn)), by_hand(drawn)
    if theirs is None:
        assert ours is None or ours.excess is None
        return
    assert ours is not None
    assert ours.actors == theirs[0]
    assert ours.excess == pytest.approx(theirs[1], abs=1e-12)


def test_taste_that_both_sides_share_adds_nothing_and_taste_that_differs_does() -> None:
    """Four voters, two of whom find nothing and two everything, with ten questions each."""
    shared = [(q, b, q % 4, float(q % 4 > 1), 1.0) for q in range(40) for b in (False, True)]
    other = [(q, b, q % 4 + 4 * b, float((q + b) % 4 > 1), 1.0) for q in range(40) for b in (False, True)]

    assert voters_term(said(shared)) == VotersTerm(actors=4, excess=0.0)
    found = voters_term(said(other))
    assert found is not None
    # e_as = 1/8, w_as = 1/4: eight voters at (1/6)^2 by 7/8; eighty cells at (1/80)^2 by 40/39
    assert found.excess == pytest.approx(7 / 8 * 8 / 36 - 40 / 39 * 80 / 80**2, abs=1e-12)


def test_the_interval_has_both_terms_and_the_freedom_of_voters() -> None:
    gains = np.array([0.5, 0.0, -0.25, 0.25, 1.0, 0.0, 0.5, -0.5, 0.25, 0.0])
    found = paired(gains, VotersTerm(actors=6, excess=0.01))
    assert found is not None
    half = stats.t.ppf(0.975, 5) * math.sqrt(gains.var(ddof=1) / 10 + 0.01)
    assert (found.low, found.high) == pytest.approx((gains.mean() - half, gains.mean() + half), abs=1e-9)
    assert found.actors == 6


@pytest.mark.parametrize(("of_a", "of_b"), [(1, 1), (1, 5), (5, 1), (1, 20)])
def test_p12_one_voters_opinion_has_no_interval(of_a: int, of_b: int) -> None:
    found = found_by(of_a, of_b)
    assert (found.low, found.high, found.actors) == (None, None, 1)


@given(rows)
@settings(max_examples=60)
def test_p12_fewer_voters_never_make_it_narrower(drawn: list[Row]) -> None:
    """The same votes by one voter on each side, by two, and by as many as there are votes that nobody counts."""
    one, two = (of([(q, b, q % voters, u, j) for q, b, _, u, j in drawn]) for voters in (1, 2))
    uncounted = paired(gains_of(drawn))
    if one is None or two is None or uncounted is None:
        assert one is two is uncounted is None
        return
    assert width(one) == math.inf >= width(two) >= width(uncounted)


def found_by(of_a: int, of_b: int) -> Paired:
    """Sixty questions with one vote on each side, by so many voters in turn."""
    drawn: list[Row] = [(q, False, q % of_a, float(q % 7 < 3), 1.0) for q in range(60)]
    drawn += [(q, True, 100 + q % of_b, float(q % 7 < 4), 1.0) for q in range(60)]
    found = of(drawn)
    assert found is not None
    return found


def of(drawn: list[Row]) -> Paired | None:
    return paired(gains_of(drawn), voters_term(said(drawn)))


def gains_of(drawn: list[Row]) -> np.ndarray:
    return differences(*(getattr(said(drawn), name) for name in ("question", "of_b", "useful", "judged")))


def width(found: Paired) -> float:
    return math.inf if found.low is None or found.high is None else found.high - found.low


def test_voters_only_widen_also_where_every_question_changed_alike() -> None:
    bound, wider = paired(np.full(40, 0.25)), paired(np.full(40, 0.25), VotersTerm(actors=5, excess=0.04))
    assert bound is not None
    assert wider is not None
    assert bound.low is not None
    assert wider.low is not None
    assert wider.low == pytest.approx(0.25 - stats.t.ppf(0.975, 4) * 0.2, abs=1e-9)
    assert wider.low < bound.low


def test_p8_no_votes_on_both_sides_is_no_term() -> None:
    assert voters_term(said([(0, False, 0, 1.0, 1.0), (1, True, 0, 1.0, 1.0)])) is None


def test_one_voter_who_gave_a_whole_side_makes_the_interval_span_nearly_everything() -> None:
    """Of B nearly all by one; the other voters of B judged one question."""
    drawn = [(q, False, q % 6, float(q % 2), 1.0) for q in range(30)]
    drawn += [(q, True, 7 if q else 8, float(q % 3 > 0), 1.0) for q in range(30)]
    found = of(drawn)
    assert found is not None
    assert (found.low, found.high) == (-1.0, 1.0)
