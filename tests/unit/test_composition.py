"""From what was handed over and what was returned to hit rows: order, folds, scores, caps. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from ragledger import Candidate
from ragledger.composition import Caps, Composed, compose, compose_readable
from ragledger.model import Returned, Signal, SignalRange


def composed(scored: Any, returned: Any = None, caps: Caps = Caps()) -> tuple[Composed, set[str]]:  # noqa: B008
    flags: set[str] = set()
    return compose(scored, returned, flags, caps), flags


def order(found: Composed) -> list[tuple[int, str | None, bool]]:
    return [(hit.rank, hit.chunk_id, hit.admitted) for hit in found.hits]


def test_the_order_of_the_retriever_is_the_rank():
    found, flags = composed((), [Candidate("a", score=0.1), Candidate("b", score=0.9)])
    assert order(found) == [(1, "a", True), (2, "b", True)]
    assert (found.candidate_count, found.admitted_count) == (2, 2)
    assert (found.top_candidate_score, found.top_admitted_score) == (0.9, 0.9)
    assert flags == set()


def test_nothing_returned_is_zero_hits():
    assert composed((), [])[0] == Composed((), 0, 0, None, None, None)
    assert composed((), None)[0] == Composed((), 0, 0, None, None, None)


def test_d18_a_chunk_returned_twice_folds_onto_its_best_rank_and_later_ranks_keep_their_place():
    found, flags = composed((), [Candidate(chunk_id) for chunk_id in "abac"])
    assert order(found) == [(1, "a", True), (2, "b", True), (4, "c", True)]
    assert found.admitted_count == 3
    assert flags == {"duplicate_hit"}


def test_unadmitted_candidates_follow_after_the_last_position_of_the_list():
    scored = [Candidate("x", admitted=False), *map(Candidate, "ab")]
    found, _ = composed(scored, [Candidate("a"), Candidate("b"), Candidate("a")])
    assert order(found) == [(1, "a", True), (2, "b", True), (4, "x", False)]


@pytest.mark.parametrize("no_id", [None, ""])
def test_items_without_an_id_are_never_the_same_item(no_id: str | None):
    found, flags = composed((), [Candidate(no_id), Candidate(no_id)])
    assert order(found) == [(1, None, True), (2, None, True)]
    assert found.hits[0].chunk_id_source is None
    assert flags == set()
    found, _ = composed([Candidate(None, vector=0.5, admitted=False)], [Candidate(None)])
    assert order(found) == [(1, None, True), (2, None, False)]
    assert found.hits[0].vector_score is None


def test_what_was_handed_over_says_itself_what_was_admitted():
    scored = [
        Candidate("a", vector=0.9, admitted=False),
        Candidate("b", vector=0.8),
        Candidate("c", vector=0.7, admitted=False),
        Candidate("d", vector=0.6),
    ]
    found, flags = composed(scored)
    assert order(found) == [(1, "b", True), (2, "d", True), (3, "a", False), (4, "c", False)]
    assert (found.candidate_count, found.admitted_count) == (4, 2)
    assert flags == set()


def test_what_was_returned_decides_and_the_signals_come_from_what_was_handed_over():
    scored = [
        Candidate("a", "doc", score=0.5, vector=0.9, lexical=0.1, source_kind="page", score_source="hybrid"),
        Candidate("b", vector=0.8, lexical=0.0),
        Candidate("c", vector=0.7, lexical=0.6),
    ]
    returned = [Candidate("c", score=0.66, score_source="node.score"), Candidate("a")]
    found, flags = composed(scored, returned)
    assert order(found) == [(1, "c", True), (2, "a", True), (3, "b", False)]
    c, a, b = found.hits
    assert (c.score, c.vector_score, c.lexical_score, c.score_source) == (0.66, 0.7, 0.6, "node.score")
    assert (a.score, a.document_id, a.source_kind, a.score_source) == (0.5, "doc", "page", "hybrid")
    assert (b.vector_score, b.lexical_score) == (0.8, 0.0)
    assert flags == set()


@pytest.mark.parametrize("returned", [None, [Candidate("a"), Candidate("b")]], ids=["declared", "returned"])
def test_a_candidate_handed_over_twice_keeps_its_first_scores(returned: Any):
    scored = [Candidate("a", vector=0.9), Candidate("b"), Candidate("a", lexical=0.2), Candidate("a")]
    found, flags = composed(scored, returned)
    assert [(hit.chunk_id, hit.vector_score, hit.lexical_score) for hit in found.hits] == [
        ("a", 0.9, None),
        ("b", None, None),
    ]
    assert flags == {"duplicate_hit"}


def test_a_candidate_both_admitted_and_not_is_admitted():
    found, flags = composed([Candidate("a", admitted=False), Candidate("a"), Candidate("b", admitted=False)])
    assert order(found) == [(1, "a", True), (2, "b", False)]
    assert flags == {"duplicate_hit"}


@pytest.mark.parametrize(
    ("handed_over", "returned"),
    [(1034556054119387216, "1034556054119387216"), ("a\0b", "a\0b"), ("x" * 600, "x" * 600)],
)
def test_d15_ids_meet_in_the_form_in_which_they_are_stored(handed_over: Any, returned: Any):
    found, flags = composed([Candidate(handed_over, vector=0.5)], [Candidate(returned)])
    assert [(hit.admitted, hit.vector_score) for hit in found.hits] == [(True, 0.5)]
    assert "duplicate_hit" not in flags


def test_two_long_ids_that_begin_alike_are_two_hits():
    found, flags = composed((), [Candidate("x" * 600 + "1"), Candidate("x" * 600 + "2")])
    assert found.admitted_count == 2
    assert flags == {"sanitised_id"}


@pytest.mark.parametrize(
    ("given", "stored", "flag"),
    [
        (None, None, None),
        (0.0, 0.0, None),
        (np.float32(0.25), 0.25, None),
        ("0.5", 0.5, None),
        (float("nan"), None, "nonfinite_score"),
        (float("inf"), None, "nonfinite_score"),
        ("VERY_HIGH", None, "unreadable_score"),
    ],
)
def test_p8_scores_and_signals_are_finite_numbers_or_unknown(given: Any, stored: Any, flag: str | None):
    scored = [Candidate("a", score=given, vector=given, lexical=given, signals={"rerank": given})]
    found, flags = composed(scored)
    [hit] = found.hits
    assert (hit.score, hit.vector_score, hit.lexical_score) == (stored, stored, stored)
    assert hit.signals == {"rerank": Signal(stored)}
    assert hit.score_kind == ("none" if stored is None else "fused")
    assert found.top_admitted_score == stored
    assert flags == ({flag} if flag else set())


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (Candidate("a"), "none"),
        (Candidate("a", score_kind="rerank"), "none"),
        (Candidate("a", score=0.5), "similarity"),
        (Candidate("a", score=0.5, vector=0.5), "similarity"),
        (Candidate("a", score=0.5, vector=0.5, lexical=0.1), "fused"),
        (Candidate("a", score=0.5, vector=0.5, signals={"rerank": 0.9}), "fused"),
        (Candidate("a", score=0.5, vector=0.5, lexical=0.1, score_kind="rerank"), "rerank"),
    ],
)
def test_the_kind_of_a_score(candidate: Candidate, kind: str):
    assert composed([candidate])[0].hits[0].score_kind == kind
    assert composed([candidate], [Candidate("a")])[0].hits[0].score_kind == kind


def test_the_best_distance_is_the_smallest_also_after_a_hit_without_one():
    returned = [
        Candidate("a"),
        *(Candidate(n, score=s, score_kind="distance") for n, s in [("b", 0.2), ("c", 0.9)]),
    ]
    found, _ = composed((), returned)
    assert found.top_admitted_score == 0.2


def test_words_that_the_columns_do_not_know_are_left_out():
    odd: Any = {"score_kind": "weird", "chunk_id_source": "dream"}
    found, flags = composed((), [Candidate("a", score=0.5, **odd)])
    assert (found.hits[0].score_kind, found.hits[0].chunk_id_source) == ("similarity", "framework")
    assert flags == {"unknown_word"}


def test_what_a_normaliser_needs_is_known_of_each_signal_over_all_candidates():
    scored = [
        Candidate("a", vector=0.9, lexical=0.0, signals={"rerank": 0.3, "title": None}),
        Candidate("b", vector=0.5, lexical=None, signals={"rerank": 0.7}, admitted=False),
        Candidate("c", vector=-0.1, lexical=2.0, admitted=False),
    ]
    for returned in (None, [Candidate("a")]):
        found, _ = composed(scored, returned)
        assert found.signals == {
            "vector": SignalRange(-0.1, 0.9, 3, True, pytest.approx(1.3 / 3), pytest.approx(0.41096093353)),
            "lexical": SignalRange(0.0, 2.0, 2, False, pytest.approx(1.0), pytest.approx(1.0)),
            "rerank": SignalRange(0.3, 0.7, 2, False, pytest.approx(0.5), pytest.approx(0.2)),
            "title": SignalRange(min=None, max=None, count=0, complete=False),
        }


@pytest.mark.parametrize(
    ("given", "stored"), [(b"k" * 16, b"k" * 16), (None, None), ("text", None), (b"k" * 65, None)]
)
def test_a_content_key_is_kept_where_it_is_one(given: Any, stored: bytes | None):
    for scored, returned in (
        ([Candidate("a", content_key=given)], None),
        ((), [Candidate("a", content_key=given)]),
    ):
        assert composed(scored, returned)[0].hits[0].content_key == stored


def test_p4_a_signal_s_name_is_sanitised_once_a_search_and_as_thoroughly_as_ever():
    class Name(str):
        __slots__ = ()

        def __str__(self) -> str:
            read.append(self)
            return f"\0{self[:]}"

    read: list[str] = []
    long = "n" * 600
    signals = {Name("member"): 0.5, long: 0.25}
    scored = [Candidate(f"c{number}", signals=signals, admitted=number < 5) for number in range(20)]
    found, flags = composed(scored)
    assert len(read) == 1
    assert flags == {"sanitised_id"}
    [names] = {tuple(hit.signals) for hit in found.hits}  # type: ignore[arg-type, union-attr]
    assert names[0] == "\\u0000member"
    assert (len(names[1]), names[1][:5]) == (512, "nnnnn")
    assert set(found.signals or {}) == set(names)
    again, flags = composed(scored)
    assert (again, flags) == (found, {"sanitised_id"})


def test_p8_without_signals_nothing_is_said_of_them():
    assert composed((), [Candidate("a", score=0.5)])[0].signals is None
    assert composed([Candidate("a", score=0.5)])[0].signals is None


def test_a_returned_item_that_was_not_handed_over_makes_the_signals_incomplete():
    found, _ = composed([Candidate("a", vector=0.5)], [Candidate("a"), Candidate("b")])
    assert found.signals == {"vector": SignalRange(0.5, 0.5, 1, False, 0.5, 0.0)}


@pytest.mark.parametrize(
    ("admitted", "others", "kept", "capped"),
    [
        (2, 48, 50, False),
        (2, 49, 50, True),
        (60, 5, 60, True),
        (60, 0, 60, False),
        (1001, 3, 1000, True),
        (1001, 0, 1000, True),
    ],
)
def test_d22_the_cap_is_for_candidates_and_the_counts_stay_true(
    admitted: int, others: int, kept: int, capped: bool
):
    scored = [Candidate(f"a{n}", vector=0.5) for n in range(admitted)]
    scored += [Candidate(f"u{n}", score=9.0, vector=0.1, admitted=False) for n in range(others)]
    found, flags = composed(scored)
    assert len(found.hits) == kept
    assert sum(hit.admitted for hit in found.hits) == min(admitted, 1000)
    assert (found.candidate_count, found.admitted_count) == (admitted + others, admitted)
    assert found.signals is not None
    assert found.signals["vector"].count == admitted + others
    assert found.top_candidate_score == (9.0 if others else None)
    assert flags == ({"hits_capped"} if capped else set())


class Unreadable:
    """No candidate at all, or one whose fields raise."""

    chunk_id = "x"

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_d27_a_returned_item_that_cannot_be_read_keeps_its_rank():
    flags: set[str] = set()
    items: list[Any] = [Candidate("a", score=0.9), Unreadable(), Candidate("b", score=0.8)]
    with pytest.raises(RuntimeError):
        compose((), items, set())
    found = compose_readable((), items, flags, Caps())
    assert order(found) == [(1, "a", True), (2, None, True), (3, "b", True)]
    assert (found.candidate_count, found.admitted_count) == (3, 3)


@pytest.mark.parametrize(
    "odd",
    [Unreadable(), [Candidate("b")], "text", None, Candidate("c", signals=3)],  # type: ignore[arg-type]
    ids=["raises", "list", "text", "none", "signals"],
)
def test_p8_d27_a_candidate_that_cannot_be_read_is_left_out_and_the_counts_are_unknown(odd: Any):
    found = compose_readable([Candidate("a", vector=0.5), odd], None, set(), Caps())
    assert order(found) == [(1, "a", True)]
    assert (found.candidate_count, found.admitted_count) == (None, None)
    found = compose_readable([odd], [Candidate("a")], set(), Caps())
    assert order(found) == [(1, "a", True)]
    assert (found.candidate_count, found.admitted_count) == (None, 1)


ODD = {
    "kind": {"score_kind": "cosine"},
    "source of the score": {"score_source": "x" * 600},
    "source of the id": {"chunk_id_source": "odd"},
    "an id twice": {"chunk_ids": ["a", "a"]},
    "no id": {"chunk_ids": ["a", ""]},
    "a NUL": {"chunk_ids": ["a", "b\0"]},
    "a document that is none": {"document_ids": ["d", 7]},
    "not a number": {"scores": [0.5, float("nan")]},
    "a score that is none": {"scores": [0.5, "0.4"]},
    "usual": {},
    "distance": {"score_kind": "distance"},
    "unscored": {"scores": None, "score_kind": None},
    "sources": {"source_kinds": ["faq", None]},
    "umlauts": {"chunk_ids": ["ä", "ß"]},
    "nothing": {"chunk_ids": [], "document_ids": [], "scores": []},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_columns_say_the_same_as_the_items_one_by_one(odd: dict[str, Any]):
    usual = {"chunk_ids": ["a", "b"], "document_ids": ["d", None], "scores": [0.5, 0.25]}
    returned = Returned(**(usual | {"score_kind": "similarity", "score_source": "node.score"} | odd))
    by_column, flags = composed((), returned)
    by_item, flags_too = composed((), returned.candidates())
    rows = by_column.hits.hits() if isinstance(by_column.hits, Returned) else by_column.hits
    assert (rows, flags) == (by_item.hits, flags_too)
    assert replace(by_column, hits=()) == replace(by_item, hits=())


def test_columns_of_different_length_are_not_kept_as_they_are():
    with pytest.raises(ValueError, match="different lengths"):
        compose((), Returned(chunk_ids=["a", "b"], document_ids=["d"]), set())
