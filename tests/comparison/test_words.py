"""What a comparison says in words, and what it warns of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from measures.table_rows import START
from msgspec.structs import replace

from ragledger.measures.caveats import caveats, index_change
from ragledger.measures.changes import apart, changes
from ragledger.measures.comparison_facts import LatencyFact, MixFact, QuestionFact, SideFacts
from ragledger.measures.comparison_report import (
    AtK,
    Compared,
    PairedDifference,
    RateDifference,
    SideAt,
    SideExtent,
    UnpairedDifference,
    Verdict,
    VoterCounts,
)
from ragledger.measures.facts import VoterFact
from ragledger.measures.report import HitRate
from ragledger.measures.verdict import About, points, verdict


def side_at(judged: int = 400, searches: int = 200, shown: int = 1000, actors: int = 40) -> SideAt:
    share = judged / shown
    return SideAt(
        precision=0.5,
        useful=judged / 2,
        judged=judged,
        shown=shown,
        judged_share=share,
        searches=searches,
        actors=actors,
    )


def at(value: float, low: float | None, high: float | None, p: float | None = 0.01, **given: Any) -> AtK:
    unpaired = UnpairedDifference(
        value=value, low=low, high=high, crude=value, left_out=given.pop("left_out", 0), p=p, p_adjusted=p,
        actors=given.pop("actors", 40), shuffles=10_000, exact=False, clustered_by=None if low is None else "search",
    )  # fmt: skip
    return AtK(**{"a": side_at(), "b": side_at(), "unpaired": unpaired, "paired": None, **given})


@pytest.mark.parametrize(
    ("found", "word", "text"),
    [
        (at(0.041, 0.012, 0.07), "better",
         "B is better by 4.1 points (1.2 to 7.0) in the first 5, human votes, 400 searches"),
        (at(-0.041, -0.07, -0.012), "worse",
         "B is worse by 4.1 points (1.2 to 7.0) in the first 5, human votes, 400 searches"),
        (at(0.02, -0.021, 0.05, 0.3), "cannot tell",
         "cannot tell: the interval (-2.1 to +5.0 points) holds both worse and better in the first 5, human votes, 400 searches"),
        (at(0.03, 0.001, 0.06, 0.061), "cannot tell",
         "cannot tell: the interval (+0.1 to +6.0 points) lies above zero, but chance alone does as much in 6.1 % of shuffles "
         "in the first 5, human votes, 400 searches"),
        (at(0.0, None, None, 1.0), "cannot tell",
         "cannot tell: too few searches, or a single voter, on each surface: no interval in the first 5, human votes, 400 searches"),
        (at(-0.3, -0.4, -0.2, a=side_at(actors=4), b=side_at(actors=1)), "cannot tell",
         "cannot tell: only 4 voters on A (5 are needed) and only 1 voter on B (5 are needed); so far -30.0 points (-40.0 to -20.0)"),
        (at(-0.3, None, None, a=side_at(actors=1), actors=1), "cannot tell",
         "cannot tell: only 1 voter on A (5 are needed); so far -30.0 points, one voter's opinion: no interval"),
        (at(-0.3, None, None, None, a=side_at(20, 12, actors=1), actors=1), "too few",
         "too few to test: A has 12 searches with human votes in the first 5 and needs 18 more; so far -30.0 points, "
         "one voter's opinion: no interval"),
        (at(-0.3, -0.4, -0.2, actors=3), "cannot tell",
         "cannot tell: only 3 voters of a side on the surfaces that both have (5 are needed); so far -30.0 points (-40.0 to -20.0)"),
        (at(-0.3, -0.4, -0.2, a=side_at(actors=5), b=side_at(actors=5), actors=5), "worse",
         "B is worse by 30.0 points (20.0 to 40.0) in the first 5, human votes, 400 searches"),
        (at(0.03, 0.001, 0.06, None, b=side_at(20, 12)), "too few",
         "too few to test: B has 12 searches with human votes in the first 5 and needs 18 more; so far +3.0 points (+0.1 to +6.0)"),
        (at(0.03, None, None, None, b=side_at(0, 0)), "not measured",
         "not measured: no human vote within the first 5 of B"),
        (at(0.0, None, None, None, unpaired=None), "not measured",
         "not measured: no surface has human votes within the first 5 on both sides"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)  # fmt: skip
def test_the_verdict_is_an_interval_in_plain_words(found: AtK, word: str, text: str) -> None:
    assert verdict(found, About("human", 5, "unpaired")) == Verdict(word=word, text=text)


def test_a_paired_verdict_counts_questions() -> None:
    paired = PairedDifference(
        value=0.1, low=0.05, high=0.15, questions=64, better=20, worse=3, actors=5, p=0.001, p_adjusted=0.004,
        shuffles=10_000, exact=False,
    )  # fmt: skip
    said = verdict(at(-0.1, -0.2, 0.0, paired=paired), About("judge", 3, "paired"))
    assert said.word == "better"
    assert said.text.endswith("in the first 3, judge votes, 64 questions asked on both sides")
    few = verdict(at(-0.1, -0.2, 0.0, paired=replace(paired, actors=4)), About("judge", 3, "paired"))
    assert few.text == (
        "cannot tell: only 4 voters on these questions on a side (5 are needed); so far +10.0 points (+5.0 to +15.0)"
    )


def test_points_have_no_negative_zero() -> None:
    assert [points(share, sign=True) for share in (-0.0001, 0.0, 0.0004, 0.041)] == [
        "0.0",
        "0.0",
        "0.0",
        "+4.1",
    ]


def test_settings_that_differ_are_named_also_inside_of_others() -> None:
    before = {"vector": 0.6, "mode": "rrf", "members": {"bm25": {"k": 10}}, "gone": 1}
    after = {"vector": 0.4, "mode": "rrf", "members": {"bm25": {"k": 20}}, "new": None}
    assert [(change.name, change.a, change.b) for change in changes(before, after)] == [
        ("gone", 1, None),
        ("members.bm25.k", 10, 20),
        ("vector", 0.6, 0.4),
    ]


def test_mixes_are_apart_by_what_would_have_to_move() -> None:
    assert apart({"study": 80, "tab": 20}, {"study": 25, "tab": 25}) == pytest.approx(0.3)
    assert apart({"study": 1}, {"tab": 1}) == 1.0
    assert apart({}, {"tab": 1}) is None


# --- what to know before believing it ----------------------------------------------------------------------


def extent(**given: Any) -> SideExtent:
    values: dict[str, Any] = {
        "name": "e1", "epoch": "e1", "since": None, "until": None, "first_search": START,
        "last_search": START + timedelta(days=9), "searches": 500, "ok": 500, "epochs": ("e1",),
        "index_versions": ("v1",), "embedding_models": ("m",),
    }  # fmt: skip
    return SideExtent(**values | given)


def facts(**given: Any) -> SideFacts:
    values: dict[str, Any] = {
        "epochs": (), "mix": (MixFact("p", "c", "study", "human", 500, 500, 0),), "latency": LatencyFact(0, None, None),
        "answers": (), "shown": (), "clusters": (), "actors": (), "questions": (QuestionFact(b"q", 500),),
        "voters": (VoterFact("human", 800, 40, 200),),
    }  # fmt: skip
    return SideFacts(**values | given)


def rates(a: int, b: int, difference: float, low: float, high: float) -> RateDifference:
    sides = (HitRate(n=n, of=500, rate=n / 500) for n in (a, b))
    return RateDifference(a=next(sides), b=next(sides), difference=difference, low=low, high=high)


ALIKE = rates(5, 5, 0.0, -0.02, 0.02)


def compared(found: AtK) -> dict[Any, Compared]:
    counts = VoterCounts(votes=800, actors=40)
    said = Verdict(word="cannot tell", text="")
    return {"human": Compared(a=counts, b=counts, headline="unpaired", verdict=said, at={5: found})}


def warned(
    b: SideFacts | None = None, of_b: SideExtent | None = None, degraded: RateDifference = ALIKE, **votes: Any
) -> dict[str, str]:
    voters = compared(votes.get("at", at(0.1, 0.0, 0.2)))
    found = caveats((facts(), b or facts()), (extent(), of_b or extent()), voters, degraded, 5)
    return {caveat.code: caveat.text for caveat in found}


def test_two_sides_that_are_alike_raise_no_caveat() -> None:
    assert warned() == {}


@pytest.mark.parametrize(
    ("given", "code", "text"),
    [
        ({"of_b": extent(first_search=START + timedelta(days=10), last_search=START + timedelta(days=12))},
         "calendar", "A ended before B began: whatever else changed with time is in the difference"),
        ({"of_b": extent(epochs=("e1", "e2"))}, "several_epochs", "B pools 2 epochs: e1, e2"),
        ({"of_b": extent(index_versions=(None,))}, "index_unknown",
         "only one side says its index version: whether it changed is unknown"),
        ({"of_b": extent(embedding_models=("n",))}, "index",
         "the difference is of index and weights together: embedding_model m → n"),
        ({"b": facts(mix=(MixFact("p", "c", "study", "human", 300, 300, 0), MixFact("p", "c", None, "human", 200, 200, 0)))},
         "surface_mix", "the mix of surfaces differs by 40% (study: 100% → 60%)"),
        ({"b": facts(mix=(MixFact("q", "c", "study", "human", 500, 500, 0),))}, "project_mix",
         "the mix of projects differs by 100% (q: 0% → 100%)"),
        ({"b": facts(mix=(MixFact("p", None, "study", "human", 500, 500, 0),))}, "corpus_mix",
         "the mix of corpora differs by 100% (c: 100% → 0%)"),
        ({"b": facts(mix=(MixFact("p", "c", "study", "agent", 500, 500, 0),))}, "actor_mix",
         "the mix of who asks differs by 100% (human: 100% → 0%)"),
        ({"b": facts(voters=(VoterFact("human", 400, 40, 90), VoterFact("judge", 400, 1, 90)))}, "voter_mix",
         "the mix of who votes differs by 50% (judge: 0% → 50%)"),
        ({"b": facts(questions=(QuestionFact(b"q", 100), QuestionFact(b"r", 300)))}, "query_mix",
         "the questions differ: 1 were asked on both sides, in 100% of A's searches and 25% of B's"),
        ({"b": facts(questions=(QuestionFact(None, 500),))}, "query_unknown",
         "whether the same questions were asked is unknown: query_keys is off on side B"),
        ({"degraded": rates(5, 60, 0.11, 0.08, 0.14)}, "degraded",
         "the share of degraded searches differs (1.0% → 12.0%): weights are not all that does"),
        ({"at": at(0.1, 0.0, 0.2, b=side_at(200, 100))}, "judged_share",
         "human: the judged share differs (40.0% → 20.0%): who votes on what may have changed"),
        ({"at": at(0.1, 0.0, 0.2, left_out=7)}, "left_out",
         "human: 7 judged hits lie on surfaces that only one side has, and are in no difference"),
        ({"at": at(0.1, 0.0, 0.2, b=side_at(actors=4))}, "few_actors",
         "human: 4 actor(s) gave all votes of B: it is their opinion"),
        ({"at": at(0.1, 0.0, 0.2, a=side_at(actors=19))}, "few_actors",
         "human: 19 actor(s) gave all votes of A: with fewer than 20, how voters differ is much of the uncertainty"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)  # fmt: skip
def test_each_difference_but_the_weights_is_said(given: dict[str, Any], code: str, text: str) -> None:
    assert warned(**given) == {code: text}


def test_what_a_side_does_not_say_of_its_index_is_no_change() -> None:
    assert index_change(extent(), extent(index_versions=(None,))) is None
    assert index_change(extent(), extent(index_versions=("v1", None))) is None
    assert index_change(extent(), extent(index_versions=("v2", None))) == "index_version v1 → v2"
